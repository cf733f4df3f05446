package executor

import (
	"net/http"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// wholeSearch is a source whose search gives whole records, and which can be asked for single
// ones besides. The two answers have different shapes.
const wholeSearch = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", size: "${page.size}"}}
    paging: {type: OFFSET, size: 10, stable: true}
    response: {items: $.items, id: $.id, updatedAt: $.updated, total: $.total, fields: {%FIELDS%}}
    operations:
      UPDATE: {details: {endpoint: fetch, batchSize: %BATCH%}}
  fetch:
    role: DETAIL
    request: {path: /fetch, query: {ids: "${join(ids, ',')}"}}
    response: {items: $.found, id: $.id, updatedAt: $.updated, fields: {%FIELDS%}}
`

func newWholeLibrary(t *testing.T, n int) *library {
	l := newLibrary(t, things(n))
	l.list.fetch = func(_ *list, _ *http.Request, asked []thing) any { return map[string]any{"found": asked} }
	return l
}

// A harvest and a range of time that is read again take records from the search. Only
// records that are named are asked for by id.
func TestAWholeSearchIsNotAskedTwice(t *testing.T) {
	const records = 25
	l := newWholeLibrary(t, records)
	l.harvestAll(declared{steps: wholeSearch})
	if s := l.total(); s.Inserted != records || l.list.calls["/fetch"] != 0 {
		t.Fatalf("%+v, %d detail requests", s, l.list.calls["/fetch"])
	}
	l.clock.advance(time.Hour)
	c := l.compile(ingest.Update, declared{steps: wholeSearch})
	l.plan(c, planner.Request{From: &dayFrom, To: &dayTo})
	l.work(ingest.Update)
	if s := l.total(); s.Unchanged != records || l.list.calls["/fetch"] != 0 || !s.Balanced() {
		t.Errorf("a range of time: %+v, %d detail requests", s, l.list.calls["/fetch"])
	}
	listed := l.list.calls["/list"]
	l.clock.advance(time.Hour)
	l.update(c, refresh.Spec{Policy: refresh.ByChange, Ask: true, Exprs: []string{"another"}, Mappings: []string{"another"}})
	if s := l.total(); s.Refresh.Checked != records || s.Unchanged != records || l.list.calls["/fetch"] != 3 || l.list.calls["/list"] != listed || !s.Balanced() {
		t.Errorf("by id: %+v, %v", s, l.list.calls)
	}
	l.isolated()
}

// A new mapping reads kept answers of either endpoint again, and asks nobody.
func TestANewMappingReadsBothKindsOfAnswers(t *testing.T) {
	const records = 25
	l := newWholeLibrary(t, records)
	l.harvestAll(declared{steps: wholeSearch})
	l.clock.advance(time.Hour)
	for i := range l.list.things {
		if i%2 == 0 { // these are stored from an answer by id
			l.list.things[i].Updated = l.list.things[i].Updated.Add(time.Second)
		}
	}
	c := l.compile(ingest.Update, declared{steps: wholeSearch})
	l.update(c, refresh.Spec{Policy: refresh.ByChange, Ask: true, Exprs: []string{"another"}, Mappings: []string{"another"}})
	if s := l.total(); s.Updated != 13 || s.Unchanged != 12 {
		t.Fatalf("%+v", s)
	}
	for _, fields := range []string{"name: $.id", "title: $.id", "both: $.id"} { // the second and third read what was mapped anew
		l.clock.advance(time.Hour)
		calls := l.list.calls["/fetch"] + l.list.calls["/list"]
		c = l.compile(ingest.Update, declared{steps: wholeSearch, fields: fields})
		l.update(c, today(t, c))
		if s := l.total(); s.Refresh.Remapped != records || s.Updated != records || l.list.calls["/fetch"]+l.list.calls["/list"] != calls || !s.Balanced() {
			t.Errorf("%s: %+v, %v", fields, s, l.list.calls)
		}
		if again := l.update(c, today(t, c)); !again.Empty {
			t.Errorf("%s: there is still something to do: %v", fields, again.Explain)
		}
	}
}
