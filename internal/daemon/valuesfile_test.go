package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

const listedSource = `source: journals
name: Journals
http: {baseUrl: https://api.example.org}
endpoints:
  works:
    role: SEARCH
    request: {path: "/${partition.journal}", query: {from: "${filter.from}", to: "${filter.to}"}}
    filter: {field: updated, precision: SECOND}
    partitions: {journal: {valuesFile: FILE}}
    paging: {type: ONE}
    slicing: {step: P1D}
    response: {items: $.works, id: $.id, updatedAt: $.updated, fields: {title: $.id}}
`

// The file lies below the folder of the source file, and its values become those of the source.
func TestAFileOfValuesBesideASourceFile(t *testing.T) {
	dir := t.TempDir()
	writeBelow(t, dir, "journals.txt", "\ufeff# ours\r\none\r\n\r\ntwo\r\n")
	writeBelow(t, dir, "lists/more.txt", "three")
	linkTo(t, filepath.Join(dir, "near.txt"), "lists/more.txt")
	for file, want := range map[string]string{"journals.txt": "one two", "lists/more.txt": "three", "lists/../lists/more.txt": "", "near.txt": "three", "./journals.txt": ""} {
		f, problems := ReadSourceFile(filepath.Join(dir, "journals.yaml"), listed(file))
		if want == "" {
			if problems == nil {
				t.Errorf("%s was read", file)
			}
			continue
		}
		if problems != nil {
			t.Errorf("%s: %v", file, problems)
			continue
		}
		if got := strings.Join(f.Parsed.Endpoints["works"].Partitions["journal"].Values, " "); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
		if NoteProblems(&f, nil); !strings.Contains(f.Warnings[len(f.Warnings)-1].String(), "W-VALUES-FILE: asks for ") {
			t.Errorf("%v", f.Warnings)
		}
	}
}

// A source file may come from a stranger: it reads no file that is not a list beside it, and waits for none.
func TestNoOtherFileIsReadAsValues(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "sources")
	const secret = "MY-SECRET"
	for _, name := range []string{"secret.txt", "sources/.hidden.txt", "sources/.ssh/key.txt", "sources/id_ed25519", "sources/bad.txt", "sources/huge.txt"} {
		writeBelow(t, home, name, secret)
	}
	writeBelow(t, dir, "bad.txt", "good\n\xff"+secret)
	writeBelow(t, dir, "huge.txt", strings.Repeat(secret+"\n", 300_000))
	writeBelow(t, dir, "folder.txt/inside.txt", secret)
	linkTo(t, filepath.Join(dir, "out.txt"), "../secret.txt")
	linkTo(t, filepath.Join(dir, "whole.txt"), filepath.Join(home, "secret.txt"))
	linkTo(t, filepath.Join(dir, "key.txt"), "id_ed25519")
	linkTo(t, filepath.Join(dir, "up"), "..")
	linkTo(t, filepath.Join(dir, "null.txt"), os.DevNull)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	const outside, dot, unread = "does not lie below the folder", "begins with a dot", "it cannot be read"
	for file, want := range map[string]string{
		"../secret.txt": outside, "lists/../../secret.txt": outside, filepath.Join(home, "secret.txt"): outside, "/dev/null": outside, "..": outside, `..\secret.txt`: outside, "": "",
		".hidden.txt": dot, ".ssh/key.txt": dot, "~/secret.txt": unread, "missing.txt": unread,
		"out.txt": unread, "whole.txt": unread, "up/secret.txt": unread, "null.txt": unread,
		"id_ed25519": "does not end with .txt", "key.txt": "a link to a file whose name does not end with .txt",
		"pipe.txt": "no regular file", "folder.txt": "no regular file",
		"bad.txt": "bad.txt: line 2 is not UTF-8", "huge.txt": "it has 3000000 bytes",
	} {
		f, problems := ReadSourceFile(filepath.Join(dir, "journals.yaml"), listed(file))
		if want == "" {
			want = "E-REQUIRED" // as if it were not there
		}
		if f.Parsed != nil && want != "E-REQUIRED" || !strings.Contains(problems.Error(), want) {
			t.Errorf("%s: %v, want %s", file, problems, want)
		}
		if strings.Contains(problems.Error(), secret) {
			t.Errorf("%s is told: %v", file, problems)
		}
	}
}

// R5: what comes over the network names no file of the server, wherever that lies.
func TestR5PostedSourcesReadNoFileOfValues(t *testing.T) {
	app, _ := cached(t, 0)
	dir := t.TempDir()
	writeBelow(t, dir, "journals.txt", "one")
	t.Chdir(dir)
	texts := app.NewSourceTexts(registry.Remote{Folders: []string{dir}})
	for _, file := range []string{"journals.txt", filepath.Join(dir, "journals.txt")} {
		wish := view.ApplyWish{Name: "posted", Code: "journals", Any: true}
		f, _, err := texts.Apply(t.Context(), listed(file), wish, ingest.Act{Actor: "token ann", Reason: "ours"})
		if err != nil || len(f.Problems) != 1 || f.Problems[0].Code != "E-VALUES-FILE" || !strings.Contains(f.Problems[0].Message, "no file is read here") {
			t.Errorf("%s: %+v %v", file, f.Problems, err)
		}
		if _, applied, err := app.Source(t.Context(), "journals"); applied || !IsMissing(err) {
			t.Errorf("%s: applied %v, %v", file, applied, err)
		}
	}
}

// A setting of one run reads no file either.
func TestNoSettingReadsAFileOfValues(t *testing.T) {
	f, problems := ReadSource("journals.yaml", []byte(strings.Replace(string(listed("x")), "valuesFile: 'x'", "values: [a]", 1)))
	if problems != nil {
		t.Fatal(problems)
	}
	override, err := registry.ParseOverride("partitions.journal.valuesFile=journals.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(f.Parsed, "works", ingest.Harvest, []registry.Override{override}); err == nil || !strings.Contains(err.Error(), "E-VALUES-FILE") {
		t.Error(err)
	}
}

func listed(file string) []byte {
	return []byte(strings.Replace(listedSource, "FILE", "'"+file+"'", 1))
}

func writeBelow(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func linkTo(t *testing.T, link, target string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}
