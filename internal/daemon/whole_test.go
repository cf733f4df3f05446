package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

const wholeSource = `source: lists
name: Lists
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
endpoints:
  journals:
    role: SEARCH
    request: {path: /journals, query: {offset: "${page.offset}", limit: "${page.size}"}}
    filter: {bounds: NONE}
    paging: {type: OFFSET, size: 10}
    snapshot: {every: P1D, confirm: 1}
    response: {items: $.journals, id: $.issn, total: $.count, fields: {title: $.title}}
`

// wholeIDs is a list of ids only: records are asked for by id.
const wholeIDs = `source: lists
name: Lists
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
endpoints:
  journals:
    role: SEARCH
    request: {path: /ids, query: {offset: "${page.offset}", limit: "${page.size}"}}
    filter: {bounds: NONE}
    paging: {type: OFFSET, size: 10}
    snapshot: {every: P1D, confirm: 1}
    response: {items: $.ids, id: $, total: $.count}
    details: {endpoint: records, batchSize: 7, missing: RECHECK}
  records:
    role: DETAIL
    request: {path: /records, query: {ids: "${join(ids, ',')}"}}
    response: {items: $.records, id: $.issn, fields: {title: $.title}}
`

// journals serves a list without dates: so many journals from one on.
type journals struct{ first, last atomic.Int64 }

func (j *journals) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one := func(id string) any { return map[string]any{"issn": id, "title": "Journal " + id} }
	if ids := r.FormValue("ids"); ids != "" {
		found := []any{}
		for id := range strings.SplitSeq(ids, ",") {
			found = append(found, one(id))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"records": found})
		return
	}
	offset, _ := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	limit, _ := strconv.ParseInt(r.FormValue("limit"), 10, 64)
	found, ids := []any{}, []string{}
	for n := j.first.Load() + offset; n < min(j.last.Load(), j.first.Load()+offset+limit); n++ {
		ids = append(ids, fmt.Sprint("j", n))
		found = append(found, one(fmt.Sprint("j", n)))
	}
	count := j.last.Load() - j.first.Load()
	_ = json.NewEncoder(w).Encode(map[string]any{"journals": found, "ids": ids, "count": count})
}

// A list without dates is harvested whole, again and again: the second time all is unchanged,
// nothing is a gap, what vanished is gone, a list that has shrunk does not
// count, and a person may accept it.
func TestWholeListIsHarvested(t *testing.T) {
	for name, file := range map[string]string{"records": wholeSource, "ids first": wholeIDs} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) { harvestWholeList(t, database, file) })
		})
	}
}

func harvestWholeList(t *testing.T, database, file string) {
	list := &journals{}
	list.last.Store(57)
	server := httptest.NewServer(list)
	defer server.Close()
	src, _, err := registry.Decode("lists.yaml", fmt.Appendf(nil, file, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compile(src, "", ingest.Harvest, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(src, "journals", ingest.Backfill, nil); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "E-OPERATION") || !strings.Contains(err.Error(), "its past cannot be asked for") {
		t.Errorf("a backfill: %v", err)
	}
	localstore.GiveTables(t, database)
	now := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	var clock atomic.Pointer[time.Time]
	began := now
	clock.Store(&began)
	app, err := Open(t.Context(), Config{Database: database, Relaxed: true, Clock: func() time.Time { return *clock.Load() }})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	harvest := func(after time.Duration, slices ingest.SliceStatus) ingest.BatchStats {
		t.Helper()
		later := now.Add(after)
		now = later
		clock.Store(&later)
		h, err := app.Harvest(t.Context(), c, NewRequest(now, nil, nil), Watch{})
		if err != nil || h.Plan.Slices[string(slices)] != 1 {
			t.Fatalf("%v, want one %s: %+v %v", h.Plan.Slices, slices, h.Plan.Stats, err)
		}
		return h.Plan.Stats.BatchStats
	}
	if s := harvest(0, ingest.SliceSucceeded); s.Inserted != 57 {
		t.Errorf("first: %+v", s)
	}
	if s := harvest(24*time.Hour, ingest.SliceSucceeded); s.Inserted+s.Updated+s.Gone > 0 {
		t.Errorf("second: %+v", s)
	}
	own, err := c.Namespace()
	if err != nil {
		t.Fatal(err)
	}
	known := func() coverage.State {
		t.Helper()
		state, _, err := app.store.CoverageState(t.Context(), own)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	if at := known().Cursor; !at.Equal(now) {
		t.Errorf("the list is known as of %s, want %s", at, now)
	}
	tick := NewRequest(now.Add(time.Hour), nil, nil)
	tick.Type = ingest.TriggerSchedule
	if d, err := app.Planner.Draft(t.Context(), c, tick); err != nil || !d.Empty || !strings.Contains(d.Reason, "the next reading is due at 2025-03-05T00:00:00Z") {
		t.Errorf("%+v %v", d, err)
	}
	from := now
	if _, err := app.Planner.Draft(t.Context(), c, NewRequest(now.Add(time.Hour), &from, nil)); err == nil || !strings.Contains(err.Error(), "has no dates") {
		t.Errorf("a window that was asked for: %v", err)
	}

	list.first.Store(4) // four journals leave
	if s := harvest(24*time.Hour, ingest.SliceSucceeded); s.Gone != 4 {
		t.Errorf("after four have left: %+v", s)
	}
	whole := known().Cursor
	list.first.Store(40) // less than half is left
	harvest(24*time.Hour, ingest.SliceFailed)
	if at := known().Cursor; !at.Equal(whole) {
		t.Errorf("a shrunk list moved the watermark from %s to %s", whole, at)
	}
	covered, err := app.Inspect.CoverageOf(t.Context(), src)
	if err != nil || len(covered.All) != 1 || len(covered.All[0].FailedGaps()) != 1 {
		t.Fatalf("%+v %v", covered, err)
	}
	readings, err := app.Cursors.ListReadings(t.Context(), covered.All[0].Cursor.ID, 0, 10)
	if err != nil || len(readings) != 4 || readings[0].State != generation.Shrunk || readings[0].Items != 17 || readings[0].LastKept != 17 || readings[0].Last != 53 || readings[1].Gone != 4 {
		t.Fatalf("%+v %v", readings, err)
	}
	if _, err := app.Cursors.Accept(t.Context(), covered.All[0].Cursor.ID, ingest.Act{Actor: "me", Reason: "the vendor dropped them"}); err != nil {
		t.Fatal(err)
	}
	if at := known().Cursor; !at.Equal(now) {
		t.Errorf("accepted, and the watermark stands at %s", at)
	}
	if s := harvest(24*time.Hour, ingest.SliceSucceeded); s.Gone != 0 {
		t.Errorf("36 of 53 are more than may be gone at once: %+v", s)
	}
	if readings, err = app.Cursors.ListReadings(t.Context(), covered.All[0].Cursor.ID, 0, 1); err != nil || !strings.Contains(readings[0].Held, "snapshot.maxGone") {
		t.Errorf("%+v %v", readings, err)
	}
	if gaps := coverage.Gaps(known().Segments, covered.All[0].Segments[0].Window); len(gaps) > 0 {
		t.Errorf("gaps %v", gaps)
	}
}
