package archive

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
)

const name = "000001-plans-e1" + retention.Suffix

func open(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// batches are n rows of pages, some of several parts of a file.
func batches(n int) []retention.Row {
	var out []retention.Row
	for i := range n {
		id := int64(1000 + i)
		out = append(out, retention.Row{
			Table: retention.BatchTable, ID: id, Lineage: ingest.Lineage{PlanID: 1 + id/100, RunID: 5 + id/10, BatchID: id},
			Columns: fmt.Appendf(nil, `{"id":%d,"text":%q}`, id, strings.Repeat(fmt.Sprint("é<&>", id), 100)),
		})
	}
	return out
}

func seq(rows []retention.Row) iter.Seq2[retention.Row, error] {
	return func(yield func(retention.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func write(t testing.TB, s *Store, rows []retention.Row) retention.File {
	t.Helper()
	f, err := s.Write(t.Context(), name, seq(rows))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t testing.TB, s *Store, of *retention.Link) (out []retention.Row) {
	t.Helper()
	if err := s.Rows(t.Context(), retention.File{Name: name}, of, func(r retention.Row) error { out = append(out, r); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	s, rows := open(t), batches(3000)
	f := write(t, s, rows)
	if got := read(t, s, nil); !reflect.DeepEqual(got, rows) {
		t.Error("the rows differ")
	}
	raw, err := os.ReadFile(filepath.Join(s.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(raw)); f.SHA256 != sum || f.Bytes != int64(len(raw)) || f.Rows != 3000 || f.Name != name {
		t.Errorf("%+v; the file has %d bytes and the hash %s", f, len(raw), sum)
	}
	if want := (retention.Range{1000, 3999}); f.Lineage[retention.AtBatch] != want {
		t.Errorf("lineage %v", f.Lineage)
	}
	if sum, err := s.Digest(t.Context(), name); sum != f.SHA256 || err != nil {
		t.Errorf("%s, %v", sum, err)
	}
}

// Whoever has only the usual tools reads the file as compressed lines.
func TestUsualToolsReadTheFile(t *testing.T) {
	s := open(t)
	write(t, s, batches(2000))
	file, err := os.Open(filepath.Join(s.Dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stream, err := zstd.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	text, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n != 2000 || !bytes.HasPrefix(text, []byte(`{"table":"ing_task_run_batch","id":1000,`)) {
		t.Errorf("%d lines, the first is %.80s", n, text)
	}
}

// The index leaves nothing out: a row is found by every id it has.
func TestEveryRowIsFoundByItsLineage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rows []retention.Row
		for i := range rapid.IntRange(0, 12).Draw(t, "rows") {
			id := func(name string) int64 { return rapid.Int64Range(0, 9).Draw(t, name) }
			rows = append(rows, retention.Row{
				Table: retention.TaskTable, ID: int64(i), CursorID: id("cursor"),
				Lineage: ingest.Lineage{PlanID: id("plan"), SliceID: id("slice"), TaskID: id("task"), RunID: id("run"), BatchID: id("batch")},
				Columns: fmt.Appendf(nil, `{"id":%d,"text":%q}`, i, strings.Repeat("x", rapid.SampledFrom([]int{1, frameBytes / 4}).Draw(t, "size"))),
			})
		}
		dir, err := os.MkdirTemp("", "archive")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		s, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Write(t.Context(), name, seq(rows)); err != nil {
			t.Fatal(err)
		}
		link := retention.Link{Level: rapid.SampledFrom([]retention.Level{"plan", "slice", "task", "run", "batch", "cursor"}).Draw(t, "level"), ID: rapid.Int64Range(1, 9).Draw(t, "id")}
		var want, got []int64
		for _, r := range rows {
			if r.Is(link) {
				want = append(want, r.ID)
			}
		}
		if err := s.Rows(t.Context(), retention.File{Name: name}, &link, func(r retention.Row) error { got = append(got, r.ID); return nil }); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: found %v, want %v", link, got, want)
		}
	})
}

// Only the parts of a file are read that may have what is looked for.
func TestALookReadsAPart(t *testing.T) {
	s := open(t)
	write(t, s, batches(3000))
	path := filepath.Join(s.Dir(), name)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 { // the first part is ruined
		raw[i] = 0
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, s, &retention.Link{Level: retention.AtBatch, ID: 3999}); len(got) != 1 {
		t.Errorf("%d rows", len(got))
	}
	err = s.Rows(t.Context(), retention.File{Name: name}, nil, func(retention.Row) error { return nil })
	if !errors.Is(err, ErrDamaged) {
		t.Errorf("reading all of it: %v", err)
	}
}

func TestAFileIsWholeOrNotThere(t *testing.T) {
	s, broken := open(t), errors.New("the database is gone")
	_, err := s.Write(t.Context(), name, func(yield func(retention.Row, error) bool) {
		if yield(batches(1)[0], nil) {
			yield(retention.Row{}, broken)
		}
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(s.Dir()); len(entries) != 0 {
		t.Errorf("%v were left", entries)
	}
}

// A crash after any step leaves a file that is whole, or none under the name; what
// else it leaves is taken away with the attempt.
func TestCrashes(t *testing.T) {
	crash := errors.New("power cut")
	for _, at := range []string{StepRows, StepSync, StepName, StepFolder} {
		s := open(t)
		s.CrashAfter = func(step string) error {
			if step == at {
				return crash
			}
			return nil
		}
		if _, err := s.Write(t.Context(), name, seq(batches(10))); !errors.Is(err, crash) {
			t.Fatalf("%s: %v", at, err)
		}
		_, err := os.Stat(filepath.Join(s.Dir(), name))
		if there := err == nil; there != (at == StepName || at == StepFolder) {
			t.Errorf("%s: there %v", at, there)
		} else if there && len(read(t, s, nil)) != 10 {
			t.Errorf("%s: it is not whole", at)
		}
		if err := s.Remove(name); err != nil {
			t.Error(err)
		}
		if entries, _ := os.ReadDir(s.Dir()); len(entries) != 0 {
			t.Errorf("%s: %v were left", at, entries)
		}
	}
}

func TestRefusals(t *testing.T) {
	s := open(t)
	for _, bad := range []string{"", "x", "../x" + retention.Suffix, "a/b" + retention.Suffix} {
		if _, err := s.Write(t.Context(), bad, seq(nil)); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("write %q: %v", bad, err)
		}
		if err := s.Remove(bad); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("remove %q: %v", bad, err)
		}
	}
	if _, err := s.Digest(t.Context(), name); !errors.Is(err, fault.ErrNotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := s.Remove(name); err != nil {
		t.Errorf("to remove what is not there: %v", err)
	}
	if _, err := Open(""); !errors.Is(err, fault.ErrInvalid) {
		t.Error(err)
	}
	for text, want := range map[string]error{"": ErrDamaged, strings.Repeat("x", 50): ErrDamaged, strings.Repeat("y", 38) + "\xff\xff\x00\x00" + endMark: ErrDamaged} {
		if err := os.MkdirAll(s.Dir(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Dir(), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Rows(t.Context(), retention.File{Name: name}, nil, func(retention.Row) error { return nil }); !errors.Is(err, want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
