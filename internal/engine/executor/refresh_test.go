package executor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/blob"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// library is an upstream with records that come and go, read in two steps, and
// everything that harvests and updates a copy of it.
type library struct {
	formWorld
	list    *list
	file    string
	address string
	bodies  Bodies
	asked   map[string]int // by id, of detail requests
	claimed int
}

const twoSteps = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", size: "${page.size}"}}
    paging: {type: OFFSET, size: 10, stable: true}
    response: {items: $.ids, id: $, total: $.total}
    details: {endpoint: fetch, batchSize: %BATCH%%DETAILS%}
  fetch:
    role: DETAIL
    request: {path: /fetch, query: {ids: "${join(ids, ',')}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, mergedInto: $.merged, fields: {%FIELDS%}}
`

func newLibrary(t *testing.T, things []thing) *library {
	t.Helper()
	l := &library{list: &list{things: things, calls: map[string]int{}}, asked: map[string]int{}}
	l.list.search = func(_ *list, r *http.Request, found []thing) any { return leaf(found, at(r)) }
	l.list.fetch = func(_ *list, _ *http.Request, asked []thing) any { return map[string]any{"items": asked} }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, id := range strings.Split(r.FormValue("ids"), ",") {
			if id != "" {
				l.asked[id]++
			}
		}
		l.list.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	l.address = server.URL
	l.T, l.clock, l.wire = t, &clock{began: time.Now()}, &wire{lose: map[string]int{}}
	l.chain = transport.StackSigned(httpclient.New(httpclient.Options{}), secrets.Limited{}, rategate.New())
	l.openFile()
	bodies, err := blob.Open(filepath.Join(t.TempDir(), "raw"), blob.Options{})
	l.must(err)
	t.Cleanup(bodies.Close)
	l.bodies = bodies
	return l
}

// openFile is openCopy with a name that others may open too.
func (l *library) openFile() {
	l.file = filepath.Join(l.TempDir(), "patra.db")
	localstore.Place(l, l.file)
	var err error
	l.store, err = sqlite.Open(l.Context(), sqlite.Config{Path: l.file, Relaxed: true}, store.Options{Clock: l.clock.read, AfterCommit: l.wire.deliver})
	l.must(err)
	l.Cleanup(func() { l.store.Close() })
}

type declared struct {
	batch   int
	details string // further keys
	fields  string
	steps   string // none: twoSteps
}

// compiled freezes the source for an operation.
func (l *library) compile(op ingest.Operation, d declared) *spec.Compiled {
	l.Helper()
	if d.batch == 0 {
		d.batch = 10
	}
	if d.fields == "" {
		d.fields = "title: $.id"
	}
	text := fmt.Sprintf(handHead, l.address) + strings.NewReplacer("%BATCH%", fmt.Sprint(d.batch), "%DETAILS%", d.details, "%FIELDS%", d.fields).Replace(cmp.Or(d.steps, twoSteps))
	src, _, err := registry.Decode("hand.yaml", []byte(text))
	l.must(err)
	resolved, err := registry.Resolve(src, "works", string(op), nil)
	l.must(err)
	l.compiled, err = spec.Compile(resolved)
	l.must(err)
	return l.compiled
}

func (l *library) harvestAll(d declared) {
	l.Helper()
	l.plan(l.compile(ingest.Harvest, d), planner.Request{From: &dayFrom, To: &dayTo})
	l.work(ingest.Harvest)
}

func (l *library) plan(c *spec.Compiled, r planner.Request) (ingest.Plan, *planner.Draft) {
	l.Helper()
	l.claimed++
	r.Now, r.TriggerKey, r.Scheduler, r.Type = l.clock.read(), fmt.Sprint("trigger-", l.claimed), "TEST", ingest.TriggerManual
	plan, d, err := planner.New(l.store).Plan(l.Context(), c, r)
	l.must(err)
	return plan, d
}

func (l *library) partition(op ingest.Operation) int64 {
	l.Helper()
	queues, err := l.store.Queues(context.WithoutCancel(l.Context()))
	l.must(err)
	for _, q := range queues {
		if q.Partition.Operation == op && !q.Paused {
			return q.PartitionID
		}
	}
	return 0
}

// work executes until nothing is left.
func (l *library) work(op ingest.Operation) {
	l.Helper()
	l.outcomes = nil
	for range 500 {
		if id := l.partition(op); id != 0 {
			l.claimed++
			work, err := l.store.Claim(l.Context(), ingest.ClaimRequest{PartitionID: id, Owner: "worker", Token: fmt.Sprint("claim-", l.claimed), Lease: time.Minute, Max: 1})
			l.must(err)
			if len(work) == 1 {
				out, err := New(l.store, l.chain, l.bodies, l.config, slog.New(slog.DiscardHandler)).Execute(l.Context(), work[0])
				l.must(err)
				l.outcomes = append(l.outcomes, out)
				continue
			}
		}
		l.clock.advance(time.Hour)
		promoted, err := l.store.Promote(l.Context(), 100)
		l.must(err)
		if promoted == 0 {
			return
		}
	}
	l.Fatal("the work does not end")
}

func (l *library) update(c *spec.Compiled, s refresh.Spec) *planner.Draft {
	l.Helper()
	_, d := l.plan(c, planner.Request{Refresh: planner.Refresh{Spec: s}})
	l.work(ingest.Update)
	return d
}

func (l *library) total() (sum ingest.RunStats) {
	for _, o := range l.outcomes {
		sum = sum.Add(o.Stats)
	}
	return sum
}

func (l *library) records() map[string]view.Record {
	l.Helper()
	all, err := l.store.Records(l.Context(), "hand", "works", nil, 10_000)
	l.must(err)
	out := map[string]view.Record{}
	for _, r := range all {
		out[r.ID] = r
	}
	return out
}

// without takes things out of the upstream.
func (l *library) without(ids ...string) {
	l.list.things = slices.DeleteFunc(l.list.things, func(t thing) bool { return slices.Contains(ids, t.ID) })
}

// isolated expects that the harvest's cursor stands where it stood (I6), and that
// the ledger is sane.
func (l *library) isolated() {
	l.Helper()
	cursors, err := l.store.Cursors(l.Context(), "hand")
	l.must(err)
	harvests := 0
	for _, c := range cursors {
		if c.Operation == string(ingest.Harvest) {
			harvests++
			if !c.Instant.Equal(dayTo) {
				l.Errorf("the harvest's cursor stands at %s", c.Instant)
			}
		}
	}
	if harvests != 1 {
		l.Errorf("%d cursors of the harvest", harvests)
	}
	l.checked()
	db, err := check.Open("sqlite:" + l.file)
	l.must(err)
	defer db.Close()
	problems, err := check.All(l.Context(), db)
	l.must(err)
	for _, p := range problems {
		l.Error(p)
	}
}

func (l *library) signal(kind refresh.Kind, ids ...string) {
	l.Helper()
	var named []ingest.NewSignal
	for _, id := range ids {
		named = append(named, ingest.NewSignal{ID: id})
	}
	_, err := l.store.AddSignals(l.Context(), ingest.Dataset{Source: "hand", Endpoint: "works"}, kind, named, ingest.Act{Actor: "me", Reason: "test"})
	l.must(err)
	l.clock.advance(time.Second)
}

var byAge = refresh.Spec{Policy: refresh.ByAge, Cycle: duration.Duration(10 * 24 * time.Hour)}

// The proof of the issue, through planner, executor and store: daily updates look
// at every record within N days and at most once in a cycle, while records change,
// appear and vanish; the harvest's cursor never moves.
func TestEveryRecordIsLookedAtWithinACycle(t *testing.T) {
	const records, days = 120, 10
	l := newLibrary(t, things(records))
	l.harvestAll(declared{})
	clear(l.asked)
	c := l.compile(ingest.Update, declared{})
	began := l.clock.read()
	for day := range days {
		until := began.Add(time.Duration(day+1) * 24 * time.Hour)
		l.clock.advance(until.Sub(l.clock.read()))
		l.update(c, byAge)
		if s := l.total(); s.Refresh.Checked > records/3 {
			t.Errorf("day %d: %d of %d records at once", day, s.Refresh.Checked, records)
		}
	}
	for id, r := range l.records() {
		if n := l.asked[id]; n != 1 || r.CheckedAt.Before(began) {
			t.Errorf("%s was asked for %d times, looked at %s", id, n, r.CheckedAt)
		}
		if r.Version != 1 {
			t.Errorf("%s has version %d, and nothing changed", id, r.Version)
		}
	}
	l.isolated()
	// The second cycle: a change is found, and every record is looked at once more.
	l.list.things[7].Updated = l.list.things[7].Updated.Add(time.Hour)
	l.without("t100")
	for day := range days {
		until := began.Add(time.Duration(days+day+1) * 24 * time.Hour)
		l.clock.advance(until.Sub(l.clock.read()))
		l.update(c, byAge)
	}
	all := l.records()
	for id, r := range all {
		want := 2
		switch id {
		case "t100":
			if r.State != "ACTIVE" || r.MissingSince.IsZero() {
				t.Errorf("%s is %s, missing since %s", id, r.State, r.MissingSince)
			}
			continue
		case "t007":
			if r.Version != 2 {
				t.Errorf("%s has version %d", id, r.Version)
			}
		}
		if n := l.asked[id]; n < want || n > want+1 { // one more as a witness for the one that is gone
			t.Errorf("%s was asked for %d times", id, n)
		}
		if age := l.clock.read().Sub(r.CheckedAt); age > days*24*time.Hour {
			t.Errorf("%s was last looked at %s ago", id, age)
		}
	}
	l.isolated()
}

// After a pause of two and a half cycles every record is asked for once, not once
// for each turn that it missed.
func TestALongPauseIsMadeUpForOnce(t *testing.T) {
	l := newLibrary(t, things(40))
	l.harvestAll(declared{})
	c := l.compile(ingest.Update, declared{})
	l.clock.advance(24 * time.Hour)
	l.update(c, byAge)
	clear(l.asked)
	l.clock.advance(25 * 24 * time.Hour)
	l.update(c, byAge)
	for id := range l.records() {
		if l.asked[id] != 1 {
			t.Errorf("%s was asked for %d times", id, l.asked[id])
		}
	}
	l.isolated()
}

// A run that is lost in the middle, or told so, costs no second look.
func TestAnInterruptedUpdateGoesOn(t *testing.T) {
	l := newLibrary(t, things(60))
	l.harvestAll(declared{})
	clear(l.asked)
	var ids []string
	for _, one := range things(60) {
		ids = append(ids, one.ID)
	}
	l.signal(refresh.MissingField, ids...)
	l.plan(l.compile(ingest.Update, declared{}), planner.Request{Refresh: planner.Refresh{Spec: refresh.Spec{Policy: refresh.BySignal}}})
	ctx, stop := context.WithCancel(t.Context())
	fetches := 0
	plain := l.list.fetch
	l.list.fetch = func(of *list, r *http.Request, asked []thing) any {
		if fetches++; fetches == 2 {
			stop()
		}
		return plain(of, r, asked)
	}
	work, err := l.store.Claim(t.Context(), ingest.ClaimRequest{PartitionID: l.partition(ingest.Update), Owner: "worker", Token: "once", Lease: time.Minute, Max: 1})
	l.must(err)
	out, err := New(l.store, l.chain, l.bodies, l.config, slog.New(slog.DiscardHandler)).Execute(ctx, work[0])
	if err != nil || out.Task != ingest.TaskQueued {
		t.Fatalf("%+v, %v", out, err)
	}
	l.list.fetch = plain
	l.work(ingest.Update)
	twice := 0
	for _, id := range ids {
		switch l.asked[id] {
		case 1:
		case 2:
			twice++ // of the answer that was lost
		default:
			t.Errorf("%s was asked for %d times", id, l.asked[id])
		}
	}
	if s := l.total(); s.Refresh.Checked+out.Stats.Refresh.Checked != 60 || twice > 10 {
		t.Errorf("%d twice, %+v then %+v", twice, out.Stats, s)
	}
	l.isolated()
}

// D§5.13: what the upstream no longer has becomes a tombstone with an event, after
// it was asked for twice and beside a record that does come, on two days.
func TestVanishedRecords(t *testing.T) {
	for _, batch := range []int{10, 1} {
		t.Run(fmt.Sprint("batches of ", batch), func(t *testing.T) {
			l := newLibrary(t, things(30))
			l.harvestAll(declared{batch: batch})
			clear(l.asked)
			l.without("t003", "t017")
			l.signal(refresh.Retraction, "t003", "t004", "t017", "unknown")
			c := l.compile(ingest.Update, declared{batch: batch})
			l.update(c, bySignal)
			if s := l.total(); s.Gone != 0 || s.Missed != (ingest.MissTally{Missing: 2, NotFound: 1}) || !s.Balanced() || l.outcomes[0].Task != ingest.TaskSucceeded {
				t.Errorf("%s %+v", l.story(), s)
			}
			l.clock.advance(24 * time.Hour)
			l.update(c, bySignal)
			all := l.records()
			if s := l.total(); s.Gone != 2 || s.Missed.Total() != 0 || !s.Balanced() || l.outcomes[0].Task != ingest.TaskSucceeded {
				t.Errorf("%s %+v", l.story(), s)
			}
			for id, state := range map[string]string{"t003": "GONE", "t004": "ACTIVE", "t017": "GONE"} {
				if r := all[id]; r.State != state || r.CheckedAt.IsZero() {
					t.Errorf("%+v", r)
				}
			}
			if _, stored := all["unknown"]; stored || l.asked["t003"] != 4 || l.asked["unknown"] != 2 {
				t.Errorf("asked for %v", l.asked)
			}
			signals, err := l.store.Signals(t.Context(), view.Filter{Limit: 10, Status: "OPEN"})
			l.must(err)
			if len(signals) != 0 {
				t.Errorf("%+v", signals)
			}
			counts, err := l.store.Counts(t.Context(), "hand")
			l.must(err)
			if counts.Outbox != 32 || counts.Gone != 2 {
				t.Errorf("%+v", counts)
			}
			l.isolated()
		})
	}
}

// A missing id right after an upstream hiccup is no tombstone: the record that was
// asked for to be sure does not come either, and another run asks again.
func TestAHiccupBuriesNobody(t *testing.T) {
	for _, batch := range []int{10, 1} {
		t.Run(fmt.Sprint("batches of ", batch), func(t *testing.T) {
			l := newLibrary(t, things(30))
			l.harvestAll(declared{batch: batch})
			plain := l.list.fetch
			hiccups := map[int]int{10: 2, 1: 5}[batch] // until the first run has given up
			l.list.fetch = func(of *list, r *http.Request, asked []thing) any {
				if hiccups--; hiccups >= 0 {
					return map[string]any{"items": []thing{}}
				}
				return plain(of, r, asked)
			}
			l.signal(refresh.Retraction, "t003", "t004", "t005")
			l.update(l.compile(ingest.Update, declared{batch: batch}), refresh.Spec{Policy: refresh.BySignal})
			for _, r := range l.records() {
				if r.State != "ACTIVE" {
					t.Errorf("%s was buried", r.ID)
				}
			}
			if s := l.total(); s.Gone != 0 || len(l.outcomes) < 2 || l.outcomes[len(l.outcomes)-1].Task != ingest.TaskSucceeded {
				t.Error(l.story())
			}
			l.isolated()
		})
	}
}

// An answer that is cut short every time names its witness last: nothing is buried.
func TestAShortAnswerBuriesNobody(t *testing.T) {
	l := newLibrary(t, things(30))
	l.harvestAll(declared{})
	l.list.fetch = func(_ *list, _ *http.Request, asked []thing) any {
		return map[string]any{"items": asked[:min(1, len(asked))]}
	}
	l.signal(refresh.Retraction, "t003", "t004", "t005", "t006")
	l.update(l.compile(ingest.Update, declared{}), refresh.Spec{Policy: refresh.BySignal})
	for _, r := range l.records() {
		if r.State != "ACTIVE" {
			t.Errorf("%s was buried", r.ID)
		}
	}
}

// A mass disappearance stops the updates of the endpoint, loudly, before a single
// record is buried; the harvest may go on.
func TestAMassDisappearanceStops(t *testing.T) {
	l := newLibrary(t, things(200))
	l.harvestAll(declared{})
	var lost []string
	for i := range 40 {
		lost = append(lost, fmt.Sprintf("t%03d", 3*i))
	}
	l.without(lost...)
	l.clock.advance(11 * 24 * time.Hour)
	c := l.compile(ingest.Update, declared{})
	l.update(c, byAge) // the turns of one day: few enough to be believed
	before := l.total().Gone
	clear(l.asked)
	l.clock.advance(9 * 24 * time.Hour)
	l.update(c, byAge)
	last := l.outcomes[len(l.outcomes)-1]
	if last.Task != ingest.TaskFailed || last.Code != "MASS_GONE" || !strings.Contains(last.Error, "details.maxGone of 0.1") {
		t.Fatal(l.story())
	}
	gone := 0
	for _, r := range l.records() {
		if r.State == "GONE" {
			gone++
		}
	}
	if last.Stats.Gone != 0 || gone-before > 10 { // a slice beside it may have had so few that they are believed
		t.Errorf("%d records were buried", gone-before)
	}
	before = gone
	pauses, err := l.store.Pauses(t.Context(), "hand")
	l.must(err)
	if len(pauses) != 1 || pauses[0].Operation != ingest.Update || pauses[0].Endpoint != "works" {
		t.Errorf("%+v", pauses)
	}
	l.isolated()
	// Whoever has looked may say that it is true.
	_, _, err = l.store.ResumeSource(t.Context(), pauses[0].Scope, ingest.Act{Actor: "me", Reason: "they are gone"})
	l.must(err)
	l.clock.advance(time.Hour)
	l.update(l.compile(ingest.Update, declared{details: ", maxGone: 1"}), byAge)
	if s := l.total(); s.Gone != 0 {
		t.Errorf("%s: %+v", l.story(), s)
	}
	l.clock.advance(24 * time.Hour)
	l.update(l.compile(ingest.Update, declared{details: ", maxGone: 1"}), bySignal)
	if s := l.total(); s.Gone != 40-before {
		t.Errorf("%s: %+v", l.story(), s)
	}
	l.isolated()
}

// A source may say that missing records are set aside instead.
func TestVanishedRecordsMayBeSetAside(t *testing.T) {
	l := newLibrary(t, things(20))
	l.harvestAll(declared{})
	l.without("t003")
	l.signal(refresh.Merge, "t003", "t004")
	l.update(l.compile(ingest.Update, declared{details: ", vanished: QUARANTINE"}), refresh.Spec{Policy: refresh.BySignal})
	if r := l.records()["t003"]; r.State != "ACTIVE" {
		t.Errorf("%+v", r)
	}
	aside, err := l.store.Quarantine(t.Context(), "hand", 0, 10)
	l.must(err)
	if len(aside) != 1 || aside[0].ProviderID != "t003" || aside[0].Reason != "MISSING_DETAIL" || !strings.Contains(aside[0].Detail, "any more") {
		t.Errorf("%+v", aside)
	}
}

// Merged records are linked: where the item says so, and where an answer to one id
// is about another.
func TestMergedRecords(t *testing.T) {
	t.Run("declared", func(t *testing.T) {
		l := newLibrary(t, things(20))
		l.harvestAll(declared{})
		l.list.fetch = func(_ *list, _ *http.Request, asked []thing) any {
			var items []map[string]any
			for _, a := range asked {
				item := map[string]any{"id": a.ID, "updated": a.Updated}
				if a.ID == "t003" {
					item = map[string]any{"id": a.ID, "merged": "t004"}
				}
				items = append(items, item)
			}
			return map[string]any{"items": items}
		}
		l.signal(refresh.Merge, "t003", "t004")
		l.update(l.compile(ingest.Update, declared{}), refresh.Spec{Policy: refresh.BySignal})
		if r := l.records()["t003"]; r.State != "GONE" || r.MergedInto != "t004" || l.total().Refresh.Merged != 1 {
			t.Errorf("%+v, %s", r, l.story())
		}
	})
	for _, batch := range []int{1, 10} {
		t.Run(fmt.Sprint("redirected in batches of ", batch), func(t *testing.T) {
			l := newLibrary(t, things(20))
			l.harvestAll(declared{batch: batch})
			l.list.fetch = func(of *list, r *http.Request, asked []thing) any {
				if ids := r.FormValue("ids"); ids == "t003" {
					return map[string]any{"items": of.things[4:5]}
				}
				return map[string]any{"items": slices.DeleteFunc(slices.Clone(asked), func(t thing) bool { return t.ID == "t003" })}
			}
			l.signal(refresh.Merge, "t003", "t009")
			l.update(l.compile(ingest.Update, declared{batch: batch, details: ", redirects: true"}), refresh.Spec{Policy: refresh.BySignal})
			all := l.records()
			if r := all["t003"]; r.State != "GONE" || r.MergedInto != "t004" || string(r.Fields) != `{"mergedInto":"t004"}` || all["t009"].State != "ACTIVE" {
				t.Errorf("%+v, %s", r, l.story())
			}
			l.isolated()
		})
	}
}

// today is what records are made under by these.
func today(t *testing.T, all ...*spec.Compiled) refresh.Spec {
	t.Helper()
	s := refresh.Spec{Policy: refresh.ByChange}
	for _, c := range all {
		hash, err := c.Prototype.Hash()
		if err != nil {
			t.Fatal(err)
		}
		s.Exprs, s.Mappings = append(s.Exprs, hash), append(s.Mappings, c.MappingHash)
	}
	return s
}

// A new mapping reads kept answers again and asks nobody; what is not kept any
// more is asked for; and a second run finds nothing.
func TestANewMappingAsksNobody(t *testing.T) {
	const records = 45
	l := newLibrary(t, things(records))
	l.harvestAll(declared{})
	requests := l.list.calls["/fetch"] + l.list.calls["/list"]
	l.clock.advance(time.Hour)
	mapped := declared{fields: "name: $.id"}
	c := l.compile(ingest.Update, mapped)
	d := l.update(c, today(t, c))
	if n := l.list.calls["/fetch"] + l.list.calls["/list"]; n != requests {
		t.Errorf("%d requests", n-requests)
	}
	s := l.total()
	if s.Refresh.Remapped != records || s.Updated != records || s.Requests != 0 || s.Refresh.Checked != 0 || !s.Balanced() || d.Empty {
		t.Errorf("%s %+v", l.story(), s)
	}
	for id, r := range l.records() {
		if string(r.Fields) != `{"name":"`+id+`"}` || r.Version != 2 || !r.CheckedAt.IsZero() {
			t.Fatalf("%+v", r)
		}
	}
	if again := l.update(c, today(t, c)); !again.Empty {
		t.Errorf("there is still something to do: %v", again.Explain)
	}
	// Back to the old mapping: the answers of the first harvest are still referred to.
	l.clock.advance(time.Hour)
	old := l.compile(ingest.Update, declared{})
	l.update(old, today(t, old))
	if s := l.total(); s.Refresh.Remapped != records || s.Requests != 0 {
		t.Errorf("%s %+v", l.story(), s)
	}
	l.isolated()
}

// Where answers are not kept the records are asked for, and --ask asks always.
func TestAnswersThatAreNotKeptAreAskedFor(t *testing.T) {
	for _, forced := range []bool{false, true} {
		t.Run(fmt.Sprint("forced ", forced), func(t *testing.T) {
			l := newLibrary(t, things(25))
			kept := l.bodies
			if !forced {
				l.bodies = nil
			}
			l.harvestAll(declared{})
			l.bodies = kept
			l.clock.advance(time.Hour)
			c := l.compile(ingest.Update, declared{fields: "name: $.id"})
			s := today(t, c)
			s.Ask = forced
			clear(l.asked)
			l.update(c, s)
			if got := l.total(); got.Refresh.Remapped != 0 || got.Refresh.Checked != 25 || got.Updated != 25 {
				t.Errorf("%s %+v", l.story(), got)
			}
			for id, n := range l.asked {
				if n != 1 {
					t.Errorf("%s was asked for %d times", id, n)
				}
			}
		})
	}
}

// A mapping that gives the same fields is noted in silence.
func TestTheSameFieldsTellNobody(t *testing.T) {
	l := newLibrary(t, things(25))
	l.harvestAll(declared{})
	before, err := l.store.Counts(t.Context(), "hand")
	l.must(err)
	c := l.compile(ingest.Update, declared{fields: "title: \"${jsonPath('$.id')}\""})
	l.update(c, today(t, c))
	after, err := l.store.Counts(t.Context(), "hand")
	l.must(err)
	if s := l.total(); s.Refresh.Remapped != 25 || s.Unchanged != 25 || after != before {
		t.Errorf("%s %+v, %+v", l.story(), s, after)
	}
	if again := l.update(c, today(t, c)); !again.Empty {
		t.Errorf("%v", again.Explain)
	}
}

// A slice that reaches its budget goes on in another run, and nothing is cut.
func TestAnUpdateOverItsBudgetGoesOn(t *testing.T) {
	l := newLibrary(t, things(60))
	l.harvestAll(declared{})
	clear(l.asked)
	l.clock.advance(20 * 24 * time.Hour)
	c := l.compile(ingest.Update, declared{})
	c.Snapshot.Slicing.MaxRecords = 25
	c, err := c.Snapshot.Compiled()
	l.must(err)
	var ids []string
	for _, one := range things(60) {
		ids = append(ids, one.ID)
	}
	l.signal(refresh.Retraction, ids...)
	c.Snapshot.Slicing.TargetRecords = 0
	l.update(c, refresh.Spec{Policy: refresh.BySignal})
	for _, id := range ids {
		if l.asked[id] != 1 {
			t.Errorf("%s was asked for %d times", id, l.asked[id])
		}
	}
	l.isolated()
}
