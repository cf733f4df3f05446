package cli

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/upsim"
)

// filledFile is a database file with some hundred records, as bytes.
func filledFile(t *testing.T) []byte {
	t.Helper()
	data := upsim.NewDataset(upsim.Config{Seed: 7, From: march(1), To: march(4), PerDay: 150, Flat: true})
	server, err := upsim.NewServer(data, upsim.Options{})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	file := filepath.Join(t.TempDir(), "patra.db")
	app, err := daemon.Open(t.Context(), daemon.Config{Database: "sqlite:" + file})
	if err != nil {
		t.Fatal(err)
	}
	overrides, err := term.ParseOverrides(append(settings(server.URL()), "paging.size=50", "rate.perSecond=1000", "rate.concurrency=4"))
	if err != nil {
		t.Fatal(err)
	}
	src, err := daemon.Bundled("crossref")
	if err != nil {
		t.Fatal(err)
	}
	src.Rate.PerSecond, src.Rate.Concurrency = 1000, 4
	compiled, err := daemon.Compile(src, "", ingest.Harvest, overrides)
	if err != nil {
		t.Fatal(err)
	}
	from, to := march(1), march(4)
	if _, err := app.Harvest(t.Context(), compiled, daemon.NewRequest(time.Now(), &from, &to), daemon.Watch{}); err != nil {
		t.Fatal(err)
	}
	if err := app.Close(); err != nil { // folds the log into the file
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

const filePage = 4096 // of an SQLite file

// flips are ways to damage a file.
var flips = map[string]func(content []byte, at *rand.Rand){
	"one byte":             func(c []byte, at *rand.Rand) { c[100+at.IntN(len(c)-100)] ^= byte(1 + at.IntN(255)) },
	"one bit":              func(c []byte, at *rand.Rand) { c[100+at.IntN(len(c)-100)] ^= 1 << at.IntN(8) },
	"a page without cells": func(c []byte, at *rand.Rand) { p := pageOf(c, at); p[3], p[4] = 0, 0 },
	"half of a page's cells": func(c []byte, at *rand.Rand) {
		p := pageOf(c, at)
		p[3], p[4] = p[3]/2, p[4]/2
	},
	"a page of another place": func(c []byte, at *rand.Rand) { copy(pageOf(c, at), pageOf(c, at)) },
	"a page of zeros":         func(c []byte, at *rand.Rand) { clear(pageOf(c, at)) },
}

// pageOf is any page but the first, which holds the header of the file.
func pageOf(c []byte, at *rand.Rand) []byte {
	n := 1 + at.IntN(len(c)/filePage-1)
	return c[n*filePage : (n+1)*filePage]
}

// Changed bytes in the file are never handed out as good: a command gives exactly what
// was stored, or fails.
func TestBelieve08ChangedBytesOfTheFile(t *testing.T) {
	whole := filledFile(t)
	d := newDesk(t)
	d.write(filepath.Base(d.file), string(whole))
	asked := [][]string{
		{"data", "export", "crossref", "--out", "-", "--with-payload"},
		{"data", "export", "crossref", "--out", "-", "--format", "csv"},
	}
	var truth []string
	for _, args := range asked {
		truth = append(truth, d.expect(term.ExitOK, args...).out)
	}
	lines := strings.Count(truth[0], "\n")
	if lines < 400 {
		t.Fatalf("%d records", lines)
	}
	for i := range 3 { // records from all over the file
		id := idOf(t, strings.Split(truth[0], "\n")[i*lines/3])
		args := []string{"data", "get", "crossref", id, "--version", "1", "--payload", "-o", "json"}
		asked, truth = append(asked, args), append(truth, d.expect(term.ExitOK, args...).out)
	}
	loud, quiet := 0, 0
	for name, damage := range flips {
		for seed := range uint64(14) {
			at := rand.New(rand.NewPCG(seed, 8))
			file := append([]byte(nil), whole...)
			damage(file, at)
			d.damagedFile(file)
			failed := loud
			for i, args := range asked {
				r := d.run(args...)
				if r.code == term.ExitOK && r.out != truth[i] && !d.onlyEventsAreMissing(r.out, truth[i]) {
					t.Errorf("%s, seed %d: patra %s gave %d bytes as good, true are %d", name, seed, strings.Join(args, " "), len(r.out), len(truth[i]))
				}
				if r.code != term.ExitOK {
					loud++
				} else {
					quiet++
				}
			}
			if r := d.run("db", "check", "-q"); loud > failed && r.code == term.ExitOK {
				t.Errorf("%s, seed %d: commands fail, and patra db check finds nothing\n%s", name, seed, r.out)
			}
		}
	}
	t.Logf("%d commands failed, %d gave what was stored", loud, quiet)
	if loud == 0 || quiet == 0 {
		t.Error("the flips hit nothing, or everything")
	}
}

// Every page that a record is read from is damaged in turn, most often by a page of
// another place: a page that is whole in itself, and whose rows are those of others.
func TestBelieve08PagesOfOneRecord(t *testing.T) {
	whole := filledFile(t)
	d := newDesk(t)
	d.write(filepath.Base(d.file), string(whole))
	lines := strings.Split(d.expect(term.ExitOK, "data", "export", "crossref", "--out", "-", "--with-payload").out, "\n")
	args := []string{"data", "get", "crossref", idOf(t, lines[len(lines)/2]), "--version", "1", "--payload", "-o", "json"}
	truth := d.expect(term.ExitOK, args...).out
	read := func(page int, damage func(content []byte)) (loud bool) {
		file := append([]byte(nil), whole...)
		damage(file[page*filePage : (page+1)*filePage])
		d.damagedFile(file)
		r := d.run(args...)
		if r.code == term.ExitOK && r.out != truth && !d.onlyEventsAreMissing(r.out, truth) {
			t.Errorf("page %d: %d bytes given as good, true are %d\n%s", page+1, len(r.out), len(truth), r.out)
		}
		return r.code != term.ExitOK
	}
	at, pages, needed := rand.New(rand.NewPCG(1, 8)), len(whole)/filePage, 0
	for page := 1; page < pages; page++ {
		if !read(page, func(p []byte) { clear(p) }) {
			continue // nothing of it is read
		}
		needed++
		read(page, func(p []byte) { p[3], p[4] = 0, 0 })
		read(page, func(p []byte) { p[3], p[4] = p[3]/2, p[4]/2 })
		for range 8 {
			read(page, func(p []byte) { copy(p, pageOf(whole, at)) })
		}
	}
	if needed < 20 {
		t.Errorf("a record is read from %d pages of %d", needed, pages)
	}
}

// onlyEventsAreMissing tells whether an answer is the true one but for the events of a
// version, which retention may have removed. A damaged index can hide them, and then
// the check of the database must see it.
func (d *desk) onlyEventsAreMissing(out, truth string) bool {
	var got, want view.History
	if json.Unmarshal([]byte(out), &got) != nil || json.Unmarshal([]byte(truth), &want) != nil || len(got.Versions) != len(want.Versions) {
		return false
	}
	for i := range want.Versions {
		if len(got.Versions[i].Events) == 0 {
			want.Versions[i].Events = got.Versions[i].Events
		}
	}
	return reflect.DeepEqual(got, want) && d.run("db", "check", "-q").code != term.ExitOK
}

// damagedFile puts a database file on the desk in the place of the one before.
func (d *desk) damagedFile(content []byte) {
	d.Helper()
	for _, end := range []string{"-wal", "-shm"} {
		_ = os.Remove(d.file + end)
	}
	d.write(filepath.Base(d.file), string(content))
}

func idOf(t *testing.T, line string) string {
	t.Helper()
	_, rest, ok := strings.Cut(line, `"id":"`)
	id, _, end := strings.Cut(rest, `"`)
	if !ok || !end {
		t.Fatalf("no id in %.80s", line)
	}
	return id
}
