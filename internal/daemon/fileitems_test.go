package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// partsSource reads elements of a file of XML, one rule for items to be filled in.
const partsSource = `source: dump
name: Dump
http: {baseUrl: %%q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
retry: {maxAttempts: 1, taskAttempts: 1, initialDelay: PT0.01S}
endpoints:
  works:
    role: FILE
    files: {addresses: [files/all.xml.gz], every: P1D, packed: GZIP}
    response: {format: XML, entities: HTML, items: %s, id: "$['@key']", updatedAt: "$['@mdate']", fields: {title: $.title}%s}
`

// putElements makes a file of 40 papers and, one behind the other, 40 people.
func putElements(w *filesWorld) {
	var text strings.Builder
	text.WriteString("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<!DOCTYPE all SYSTEM \"all.dtd\">\n<all>\n")
	for _, kind := range []string{"paper", "person"} {
		for n := range 40 {
			fmt.Fprintf(&text, "<%s key=\"%s/%d\" mdate=\"2025-03-01\"><title>K&ouml;nig</title></%s>\n", kind, kind, n, kind)
		}
	}
	text.WriteString("</all>\n")
	w.up.files["all.xml.gz"] = &served{body: gzipped(text.String()), date: w.now.Add(-48 * time.Hour)}
}

// An element that the source file does not name must not vanish: the file is not wholly read then.
func TestElementsThatNoPathNamesAreNotLeftOutQuietly(t *testing.T) {
	w := newFilesWorld(t, "sqlite:"+t.TempDir()+"/f.db", fmt.Sprintf(partsSource, `$.all.paper`, ""))
	putElements(w)
	c, err := Compile(w.src, "", ingest.Harvest, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.app.Harvest(t.Context(), c, NewRequest(w.now, nil, nil), Watch{})
	if err == nil || !strings.Contains(err.Error(), "response.items selects 40 of 80 items") || !w.known().Cursor.Before(w.now) {
		t.Fatalf("%v, read up to %s", err, w.known().Cursor)
	}
}

// What a rule leaves out of a file is counted, as of an answer (I4).
func TestWhereLeavesItemsOfFilesOut(t *testing.T) {
	w := newFilesWorld(t, "sqlite:"+t.TempDir()+"/f.db", fmt.Sprintf(partsSource, `"$.all['paper','person']"`, `, where: '${string(jsonPath(''$["@key"]'')) startsWith ''paper/''}'`))
	putElements(w)
	h := w.harvest(0)
	n := h.Plan.Stats
	if h.Plan.Slices[string(ingest.SliceSucceeded)] != 1 || n.Inserted != 40 || n.Excluded != 40 || n.Seen != 80 {
		t.Fatalf("%v, %+v", h.Plan.Slices, n)
	}
	of, err := w.app.store.Datasets(t.Context(), "dump")
	if err != nil || len(of) != 1 {
		t.Fatalf("%v, %v", of, err)
	}
	rows, err := w.app.Records.List(t.Context(), of[0], "", 100)
	if err != nil || len(rows) != 40 {
		t.Errorf("%d records, %v", len(rows), err)
	}
}
