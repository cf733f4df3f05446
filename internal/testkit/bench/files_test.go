package bench

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	process "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
)

// benchFiles compares the loading of works from files, a set of them and one that has all of them, with the harvest of
// the same works from pages. It is the program as it ships, a process of its own each time, and maps works alike.
func benchFiles(b *testing.B, k kind, out *table) {
	s := startShaped(b, footprintDays(b), worksPerDay)
	many, one := startDump(b, s, len(s.days)), startDump(b, s, 1)
	program := build(b)
	var pages, set, single []footprint
	repeat(b, footprintRounds, func() {
		pages = append(pages, footprintOnce(b, k, s, program))
		set = append(set, many.loadOnce(b, k, program))
		single = append(single, one.loadOnce(b, k, program))
	})
	add := func(what string, ours []footprint) {
		rounds := make([]float64, len(ours))
		for i := range rounds {
			rounds[i] = pages[i].wall.Seconds() / ours[i].wall.Seconds()
		}
		speed := func(f footprint) float64 { return float64(s.works) / f.wall.Seconds() }
		memory := func(f footprint) float64 { return float64(f.memory) / 1e6 }
		cpu := func(f footprint) float64 { return f.cpu.Seconds() }
		what = fmt.Sprintf("load %d works from %s, %s", s.works, what, k.name)
		out.add(b, line{what: what + ": speed", ours: fmt.Sprintf("%.0f records/s", middle(ours, speed)), reference: fmt.Sprintf("%.0f records/s", middle(pages, speed)), ratio: median(rounds),
			reads: fmt.Sprintf("speed from files / from pages (aim 0.6); rounds %.2f to %.2f; processor %.2f s and %.2f s", slices.Min(rounds), slices.Max(rounds), middle(ours, cpu), middle(pages, cpu))})
		out.add(b, line{what: what + ": memory", ours: fmt.Sprintf("%.0f MB", middle(ours, memory)), reference: fmt.Sprintf("%.0f MB", middle(pages, memory)), ratio: middle(ours, memory) / middle(pages, memory),
			reads: "most that was resident, from files / from pages (aim 200 MB)"})
	}
	add(fmt.Sprintf("%d files", len(s.days)), set)
	add("one file", single)
}

// dump serves works as packed files of lines, with a listing that says how many lines each has.
type dump struct {
	url   string
	works int
	files []dumpFile
}

type dumpFile struct {
	name  string
	lines int
	write func(w io.Writer) error // unpacked
	body  []byte                  // packed; nil: it is made while it is sent
}

// startDump serves the works of a made source in so many files.
func startDump(tb testing.TB, s *shaped, files int) *dump {
	tb.Helper()
	d := &dump{works: s.works}
	words := newVocabulary(11)
	for n := range files {
		lines := s.works / files
		f := dumpFile{name: fmt.Sprintf("part-%03d.jsonl.gz", n), lines: lines, write: func(w io.Writer) error { return words.writeLines(w, n*lines, lines, s.perDay) }}
		f.body = f.pack(tb)
		d.files = append(d.files, f)
	}
	d.serve(tb)
	return d
}

// writeLines writes works, one a line, with the dates that a made source gives them.
func (v *vocabulary) writeLines(w io.Writer, first, works, perDay int) error {
	var line []byte
	for no := first; no < first+works; no++ {
		at := firstDay.AddDate(0, 0, no/perDay).Add(time.Duration(no%perDay) * 24 * time.Hour / time.Duration(perDay))
		line = append(v.appendWork(line[:0], no, at), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func (f dumpFile) pack(tb testing.TB) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := f.send(&out); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// send packs the file as it is written.
func (f dumpFile) send(w io.Writer) error {
	packer, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if err := f.write(packer); err != nil {
		return err
	}
	return packer.Close()
}

func (d *dump) serve(tb testing.TB) {
	tb.Helper()
	web := httptest.NewServer(d)
	tb.Cleanup(web.Close)
	d.url = web.URL
}

func (d *dump) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/index" {
		list := []map[string]any{}
		for _, f := range d.files {
			list = append(list, map[string]any{"name": f.name, "url": "/" + f.name, "lines": f.lines, "date": firstDay.Format(time.RFC3339)})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"files": list}) // a client that went away is its own problem
		return
	}
	for _, f := range d.files {
		if r.URL.Path != "/"+f.name {
			continue
		}
		if f.body == nil {
			_ = f.send(w)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(f.body)))
		_, _ = w.Write(f.body)
		return
	}
	http.NotFound(w, r)
}

// writeSource writes a source file for the dump that maps works as the bundled Crossref does.
func (d *dump) writeSource(tb testing.TB, dir string) string {
	tb.Helper()
	text, err := catalog.Read("crossref")
	if err != nil {
		tb.Fatal(err)
	}
	_, mapping, _ := strings.Cut(string(text), "\nresponse:\n")
	mapping, _, found := strings.Cut(mapping, "\nendpoints:\n")
	if !found {
		tb.Fatal("the bundled Crossref has no section response before its endpoints")
	}
	path := filepath.Join(dir, "dump.yaml")
	source := fmt.Sprintf(`source: dump
name: Dump
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 100000, burst: 1000, concurrency: 8}
endpoints:
  works:
    role: FILE
    files: {listing: index, every: P1D, packed: GZIP}
    response:
      format: JSONL
      items: $
%s
  index:
    role: LISTING
    request: {path: /index}
    paging: {type: ONE}
    response: {items: $.files, id: $.name, updatedAt: $.date, fields: {address: $.url, lines: $.lines}}
`, d.url, indentLines(mapping, "    "))
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func indentLines(text, by string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		if lines[i] != "" {
			lines[i] = by + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// loadOnce loads all files into a fresh database.
func (d *dump) loadOnce(tb testing.TB, k kind, program string) (out footprint) {
	tb.Helper()
	inScope(tb, func(tb testing.TB) {
		db, dir := k.fresh(tb), tb.TempDir()
		run := func(args ...string) footprint {
			cmd := process.Command(program, append(args, "-q", "--db", db.address)...)
			cmd.Dir = dir
			return measureProcess(tb, cmd)
		}
		run("db", "migrate")
		run("source", "apply", d.writeSource(tb, dir))
		out = run("harvest", "dump", "--files-dir", filepath.Join(dir, "files"), "--raw-dir", filepath.Join(dir, "raw"), "--workers", strconv.Itoa(fetchers))
		raw := db.bare(tb, 1, "FULL")
		var stored int
		if err := raw.QueryRow("SELECT COUNT(*) FROM ing_record").Scan(&stored); err != nil || stored != d.works {
			tb.Fatalf("the program stored %d works of %d: %v", stored, d.works, err)
		}
		out.database, out.kept = databaseBytes(tb, db, raw), folderBytes(tb, filepath.Join(dir, "raw"))
	})
	return out
}
