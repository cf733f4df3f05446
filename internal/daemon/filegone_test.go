package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
)

const goneSource = `source: dump
name: Dump
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1, initialDelay: PT0.01S}
endpoints:
  works:
    role: FILE
    files: {listing: index, every: P1D, packed: GZIP}
    response:
      format: XML
      items: $.set['article','deleted']
      id: $.id
      updatedAt: $.changed
      goneIds: $.pmid[*]['#text']
      fields: {title: $.title}
  index:
    role: LISTING
    request: {path: /index}
    paging: {type: ONE}
    response: {items: $.files, id: $.name, updatedAt: $.date, fields: {address: $.url}}
`

// putSet makes a file of articles, with a list of deletions at its end.
func putSet(w *filesWorld, name string, date time.Time, from, to int, gone ...int) {
	var text strings.Builder
	text.WriteString("<?xml version=\"1.0\"?>\n<set>\n")
	for n := from; n < to; n++ {
		fmt.Fprintf(&text, "<article><id>%d</id><changed>%s</changed><title>Of %s</title></article>\n", n, date.Format(time.RFC3339), name)
	}
	if len(gone) > 0 {
		text.WriteString("<deleted>\n")
		for _, n := range gone {
			fmt.Fprintf(&text, "<pmid Version=\"1\">%d</pmid>\n", n)
		}
		text.WriteString("</deleted>\n")
	}
	text.WriteString("</set>\n")
	w.up.mu.Lock()
	defer w.up.mu.Unlock()
	w.up.files[name] = &served{body: gzipped(text.String()), date: date}
}

func numbers(from, to int) (out []int) {
	for n := from; n < to; n++ {
		out = append(out, n)
	}
	return out
}

// states counts the records of the source.
func (w *filesWorld) states() (active, gone int64) {
	w.Helper()
	of, err := w.app.store.Datasets(w.Context(), "dump")
	if err != nil || len(of) != 1 {
		w.Fatalf("%v, %v", of, err)
	}
	active, gone, err = w.app.store.CountRecords(w.Context(), of[0])
	if err != nil {
		w.Fatal(err)
	}
	return active, gone
}

// A list of deletions in a file makes tombstones, each is counted, and the order in which files are read does not matter: a
// record that a later file has again lives, and one that an earlier file has stays gone (I3, I4).
func TestFilesSayWhatIsGone(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newFilesWorld(t, database, goneSource)
		w.up.silent = true
		day := w.now.Add(-10 * 24 * time.Hour)
		putSet(w, "n1.xml.gz", day, 0, 100)
		putSet(w, "n2.xml.gz", day.Add(24*time.Hour), 100, 110, 3, 4, 105, 4000) // 105 is in the same file, 4000 nowhere
		h := w.harvest(0)
		if s := h.Plan.Stats; h.Plan.Slices[string(ingest.SliceSucceeded)] != 2 || s.Seen != 114 || !s.BatchStats.Balanced() {
			t.Fatalf("%v, %+v", h.Plan.Slices, s.BatchStats)
		}
		if active, gone := w.states(); active != 107 || gone != 4 {
			t.Errorf("%d active, %d gone", active, gone)
		}
		// 3 comes back; an older file is corrected, and has 4 again: it stays gone.
		putSet(w, "n3.xml.gz", day.Add(48*time.Hour), 3, 4)
		putSet(w, "n1.xml.gz", day.Add(time.Hour), 0, 100)
		w.harvest(24 * time.Hour)
		if active, gone := w.states(); active != 108 || gone != 3 {
			t.Errorf("after a later file: %d active, %d gone", active, gone)
		}
	})
}

// A file that says of too many records that they are gone is not believed, and does not count, until a person accepts it.
func TestFileThatSaysMostIsGoneIsNotBelieved(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newFilesWorld(t, database, goneSource)
		w.up.silent = true
		day := w.now.Add(-10 * 24 * time.Hour)
		putSet(w, "n1.xml.gz", day, 0, 200)
		w.harvest(0)
		putSet(w, "n2.xml.gz", day.Add(24*time.Hour), 200, 205, numbers(0, 20)...) // a tenth is believed
		if h := w.harvest(24 * time.Hour); h.Plan.Slices[string(ingest.SliceSucceeded)] != 1 {
			t.Fatalf("%v", h.Plan.Slices)
		}
		if active, gone := w.states(); active != 185 || gone != 20 {
			t.Fatalf("%d active, %d gone", active, gone)
		}
		putSet(w, "n3.xml.gz", day.Add(48*time.Hour), 205, 206, numbers(15, 60)...) // 40 of 186
		before := w.known().Cursor
		c, err := Compile(w.src, "", ingest.Harvest, nil)
		if err != nil {
			t.Fatal(err)
		}
		later := w.now.Add(24 * time.Hour)
		w.now = later
		w.clock.Store(&later)
		h, err := w.app.Harvest(t.Context(), c, NewRequest(w.now, nil, nil), Watch{})
		if err != nil || h.Plan.Slices[string(ingest.SliceFailed)] != 1 || !w.known().Cursor.Equal(before) && w.known().Cursor.Equal(w.now) {
			t.Fatalf("%v, %+v, known as of %s", err, h, w.known().Cursor)
		}
		if active, gone := w.states(); active != 185 || gone != 20 {
			t.Fatalf("%d active, %d gone", active, gone)
		}
		if _, _, err := w.app.store.ResumeSource(t.Context(), ingest.Scope{Source: "dump", Endpoint: "works", Operation: ingest.Harvest}, ingest.Act{Actor: "a person", Reason: "they are really gone"}); err != nil {
			t.Fatal(err)
		}
		o, err := registry.ParseOverride("files.maxGone=1")
		if err != nil {
			t.Fatal(err)
		}
		if c, err = Compile(w.src, "", ingest.Harvest, []registry.Override{o}); err != nil {
			t.Fatal(err)
		}
		later = w.now.Add(24 * time.Hour)
		w.now = later
		w.clock.Store(&later)
		if _, err := w.app.Harvest(t.Context(), c, NewRequest(w.now, nil, nil), Watch{}); err != nil {
			t.Fatal(err)
		}
		if active, gone := w.states(); active != 146 || gone != 60 || !w.known().Cursor.Equal(w.now) {
			t.Errorf("accepted: %d active, %d gone, known as of %s", active, gone, w.known().Cursor)
		}
	})
}
