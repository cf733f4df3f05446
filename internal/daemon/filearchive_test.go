package daemon

import (
	"archive/tar"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

const archiveSource = `source: dump
name: Dump
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1, initialDelay: PT0.01S}
endpoints:
  people:
    role: FILE
    files: {listing: index, every: P1D, packed: TAR_GZIP, entry: .xml}
    response: {format: XML, items: "$.archive.record", id: "$['@path']", fields: {name: $.name}}
  index:
    role: LISTING
    request: {path: /index}
    paging: {type: ONE}
    response: {items: $.files, id: $.name, updatedAt: $.date, fields: {address: $.url}}
`

// archiveOf makes an archive with one small file for each person.
func archiveOf(t *testing.T, people int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for n := range people {
		text := fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?><r:record xmlns:r="urn:r" path="/%d"><r:name>Person %d</r:name></r:record>`, n, n)
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("../summaries/%d.xml", n), Size: int64(len(text)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// An archive of many small files is read as one set of items, in several batches. One that ends between two files,
// and whose packing is whole, is not read: nothing else would show that people are missing.
func TestAnArchiveOfManyFilesIsHarvested(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		const people = 2500
		w := newFilesWorld(t, database, archiveSource)
		w.up.silent = true
		whole, date := archiveOf(t, people), w.now.Add(-48*time.Hour)
		w.up.files["people.tar.gz"] = &served{body: gzipped(string(whole[:len(whole)-1024])), date: date}
		h := w.harvest(0)
		if h.Plan.Slices[string(ingest.SliceFailed)] != 1 || w.known().Cursor.Equal(w.now) {
			t.Fatalf("an archive without its end: %v", h.Plan.Slices)
		}
		w.up.files["people.tar.gz"] = &served{body: gzipped(string(whole)), date: date.Add(time.Hour)}
		h = w.harvest(24 * time.Hour)
		if h.Plan.Slices[string(ingest.SliceFailed)] != 0 || !w.known().Cursor.Equal(w.now) {
			t.Fatalf("%v, known as of %s", h.Plan.Slices, w.known().Cursor)
		}
		records, err := w.app.store.Records(t.Context(), "dump", "people", nil, 10_000)
		if err != nil || len(records) != people {
			t.Fatalf("%d records: %v", len(records), err)
		}
		at := slices.IndexFunc(records, func(r view.Record) bool { return r.ID == "/2499" })
		if at < 0 || !strings.Contains(string(records[at].Fields), "Person 2499") {
			t.Errorf("%+v", records[max(at, 0)])
		}
		if h = w.harvest(24 * time.Hour); h.Plan.Stats.Seen > 1 || w.up.fetched["people.tar.gz"] != 2 {
			t.Errorf("read again: %+v, fetched %d times", h.Plan.Stats, w.up.fetched["people.tar.gz"])
		}
	})
}
