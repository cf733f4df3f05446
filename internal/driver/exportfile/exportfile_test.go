package exportfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
)

var day = func(n int) string { return fmt.Sprintf("records-2025-01-%02d.jsonl", n) }

// begin starts an export into a new folder.
func begin(t *testing.T, p export.Packing) (*Folder, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	f, err := Create(Target{Dir: dir}, p, false)
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

func (f *Folder) put(t *testing.T, name, lines string) {
	t.Helper()
	if err := f.Append(name, []byte(lines)); err != nil {
		t.Fatal(err)
	}
}

// end seals an export and writes its manifest.
func (f *Folder) end(t *testing.T, format export.Format, records map[string]int64) export.Manifest {
	t.Helper()
	sealed, err := f.Seal()
	if err != nil {
		t.Fatal(err)
	}
	m := export.NewManifest(export.Order{Source: "s", Endpoint: "e", Form: export.Form{Format: format}, Packing: f.packing, States: export.All})
	for name, n := range records {
		m.Files = append(m.Files, export.File{Name: name, Records: n, Bytes: sealed[name].Bytes, SHA256: sealed[name].SHA256})
		m.Records, m.Bytes = m.Records+n, m.Bytes+sealed[name].Bytes
	}
	m.Cursor = export.Cursor{Source: "s", Endpoint: "e"}.String()
	text, err := m.Encode()
	if err == nil {
		err = f.Finish(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func verified(t *testing.T, path string) []string {
	t.Helper()
	_, problems, err := Verify(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

func TestNothingLooksWholeBeforeItIs(t *testing.T) {
	f, dir := begin(t, export.Plain)
	f.put(t, "records.jsonl", "{}\n")
	for _, name := range names(t, dir) { // what a killed process leaves
		if name != folderLock && !strings.HasSuffix(name, partial) || export.IsName(name) {
			t.Errorf("%s looks like a file of an export", name)
		}
	}
	if _, _, err := Verify(t.Context(), dir); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("an export without a manifest: %v", err)
	}
	if _, err := Create(Target{Dir: dir}, export.Plain, false); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("a second one beside it: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if left := names(t, dir); len(left) != 0 {
		t.Errorf("given up, and %v is left", left)
	}
}

func TestManyFilesInTurns(t *testing.T) {
	for _, p := range []export.Packing{export.Plain, export.Gzip, export.Zstd} {
		f, dir := begin(t, p)
		ending := export.JSONL.Ending(p)
		want, records := map[string]string{}, map[string]int64{}
		for round := range 3 {
			for n := range 2*mostOpen + 3 {
				name := fmt.Sprintf("records-%04d%s", 1000+n, ending)
				line := fmt.Sprintf(`{"n":%d,"round":%d}`+"\n", n, round)
				f.put(t, name, line)
				want[name], records[name] = want[name]+line, records[name]+1
			}
			if len(f.open) > mostOpen {
				t.Fatalf("%d files are open", len(f.open))
			}
		}
		f.end(t, export.JSONL, records)
		if problems := verified(t, dir); len(problems) != 0 {
			t.Errorf("%q: %v", p, problems)
		}
		for name, text := range want {
			if got := unpacked(t, filepath.Join(dir, name), p); got != text {
				t.Fatalf("%s holds %q, want %q", name, got, text)
			}
		}
		if n := len(names(t, dir)); n != len(want)+1 {
			t.Errorf("%d files", n)
		}
	}
}

func unpacked(t *testing.T, path string, p export.Packing) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var from io.Reader = bytes.NewReader(raw)
	switch p {
	case export.Gzip: // the standard library reads several members as one
		from, err = gzip.NewReader(from)
	case export.Zstd:
		var d *zstd.Decoder
		d, err = zstd.NewReader(from)
		from = d
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestVerifyFindsEveryDifference(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(dir string) error
		want  string
	}{
		"nothing":     {func(string) error { return nil }, ""},
		"a byte":      {func(dir string) error { return os.WriteFile(filepath.Join(dir, day(1)), []byte("{}\n[]\n"), 0o600) }, "was changed"},
		"a line less": {func(dir string) error { return os.WriteFile(filepath.Join(dir, day(1)), []byte("{}\n"), 0o600) }, "bytes"},
		"a file less": {func(dir string) error { return os.Remove(filepath.Join(dir, day(2))) }, "is missing"},
		"a file more": {func(dir string) error { return os.WriteFile(filepath.Join(dir, day(3)), nil, 0o600) }, "not in the manifest"},
		"a link":      {func(dir string) error { return relink(dir, day(1), "/etc/hostname") }, "cannot be opened"},
		"a count": {func(dir string) error {
			return edit(dir, `"records": 2`, `"records": 1`, `"records": 3`, `"records": 2`)
		}, "has 2 records"},
		"a foreign name": {func(dir string) error { return edit(dir, day(2), "../../records.jsonl") }, "no name"},
	} {
		f, dir := begin(t, export.Plain)
		f.put(t, day(1), "{}\n{}\n")
		f.put(t, day(2), "{}\n")
		f.end(t, export.JSONL, map[string]int64{day(1): 2, day(2): 1})
		if err := c.spoil(dir); err != nil {
			t.Fatal(err)
		}
		problems := strings.Join(verified(t, dir), "; ")
		if c.want == "" && problems != "" || !strings.Contains(problems, c.want) {
			t.Errorf("%s: %q, want %q", name, problems, c.want)
		}
	}
}

func relink(dir, name, to string) error {
	path := filepath.Join(dir, name)
	return errors.Join(os.Remove(path), os.Symlink(to, path))
}

func edit(dir string, pairs ...string) error {
	path := filepath.Join(dir, export.ManifestName)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o600)
}

func TestLinesOfCSVAreCountedWithTheirQuotes(t *testing.T) {
	f, dir := begin(t, export.Plain)
	f.put(t, "records.csv", "id,title\r\n1,\"two\r\nlines, \"\"quoted\"\"\"\r\n2,x\r\n")
	f.end(t, export.CSV, map[string]int64{"records.csv": 2})
	if problems := verified(t, dir); len(problems) != 0 {
		t.Error(problems)
	}
}

// A folder that somebody prepared must not make us write elsewhere (A25).
func TestLinksLeadNowhere(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("keep"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"records.jsonl", export.ManifestName} {
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Create(Target{Dir: dir}, export.Plain, false); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("a folder that is not empty: %v", err)
	}
	f, err := Create(Target{Dir: dir}, export.Plain, true)
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, "records.jsonl", "{}\n")
	if err := f.Append("../escaped.jsonl", []byte("x")); err == nil {
		t.Error("a name led out of the folder")
	}
	delete(f.files, "../escaped.jsonl")
	f.end(t, export.JSONL, map[string]int64{"records.jsonl": 1})
	if problems := verified(t, dir); len(problems) != 0 {
		t.Error(problems)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "keep" {
		t.Errorf("%s, %v", text, err)
	}
}

func TestForceReplacesAnExportAndNothingElse(t *testing.T) {
	f, dir := begin(t, export.Plain)
	f.put(t, day(1), "{}\n")
	f.end(t, export.JSONL, map[string]int64{day(1): 1})
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(Target{Dir: dir}, export.Plain, true)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(names(t, dir)); got != "[.export.lock notes.txt]" {
		t.Errorf("%s: the manifest must go before its files are replaced", got)
	}
	f.put(t, day(2), "{}\n")
	f.end(t, export.JSONL, map[string]int64{day(2): 1})
	if problems := verified(t, dir); len(problems) != 0 {
		t.Error(problems)
	}
}

func TestSingleFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "works.jsonl.gz")
	target, err := TargetOf(path, export.JSONL, export.Gzip)
	if err != nil || target.Single != "works.jsonl.gz" {
		t.Fatalf("%+v, %v", target, err)
	}
	if _, err := TargetOf(path, export.JSONL, export.Plain); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("an ending that does not fit: %v", err)
	}
	f, err := Create(target, export.Gzip, false)
	if err != nil {
		t.Fatal(err)
	}
	f.put(t, target.Single, "{}\n")
	f.end(t, export.JSONL, map[string]int64{target.Single: 1})
	for _, name := range []string{path, path + manifestEnding} {
		if problems := verified(t, name); len(problems) != 0 {
			t.Error(problems)
		}
	}
	if _, err := Create(target, export.Gzip, false); !errors.Is(err, fault.ErrConflict) {
		t.Errorf("a file that is there: %v", err)
	}
	if _, err := ReadManifest(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("no manifest: %v", err)
	}
}
