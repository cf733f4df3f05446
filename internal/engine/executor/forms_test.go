package executor

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// formWorld is a source of some form, described only by its file, and everything
// that works on it: planner, executor, re-slicing.
type formWorld struct {
	world
	form     simulated.Form
	compiled *spec.Compiled
	outcomes []ingest.Outcome
	origin   time.Time // of what was planned
}

func startForm(t *testing.T, f simulated.Form, items int, faults string, settings ...string) *formWorld {
	t.Helper()
	data := upsim.NewDataset(upsim.Config{Seed: 3, From: dayFrom, To: dayTo, PerDay: max(items, 1), Flat: true})
	if items == 0 {
		for truth := range data.Heads() {
			if err := data.Remove(truth.DOI); err != nil {
				t.Fatal(err)
			}
		}
	}
	w := &formWorld{form: f}
	w.T, w.data, w.clock, w.wire = t, data, &clock{began: time.Now()}, &wire{lose: map[string]int{}}
	w.server, w.compiled = f.Start(t, data, faults, settings...)
	w.chain = transport.StackSigned(httpclient.New(httpclient.Options{}), secrets.Limited{}, rategate.New())
	w.openCopy()
	return w
}

func (w *formWorld) openCopy() {
	path := filepath.Join(w.TempDir(), "patra.db")
	localstore.Place(w, path)
	s, err := sqlite.Open(w.Context(), sqlite.Config{Path: path, Relaxed: true}, store.Options{Clock: w.clock.read, AfterCommit: w.wire.deliver})
	w.must(err)
	w.store = s
	w.Cleanup(func() { s.Close() })
}

// harvest plans the day and works until nothing is left to do, as serve would.
func (w *formWorld) harvest() {
	w.Helper()
	w.planDay()
	w.work()
}

func (w *formWorld) planDay() {
	w.Helper()
	_, _, err := planner.New(w.store).Plan(w.Context(), w.compiled, planner.Request{
		Now: w.clock.read(), From: &dayFrom, To: &dayTo, TriggerKey: "test", Scheduler: "TEST", Type: ingest.TriggerManual,
	})
	w.must(err)
}

func (w *formWorld) work() {
	w.Helper()
	plans := planner.New(w.store)
	for round := 0; ; round++ {
		if round > 400 {
			w.Fatal("the work does not end")
		}
		work, err := w.store.Claim(w.Context(), ingest.ClaimRequest{PartitionID: 1, Owner: "worker", Token: fmt.Sprint("round-", round), Lease: time.Minute, Max: 1})
		w.must(err)
		if len(work) == 1 {
			out, err := New(w.store, w.chain, nil, w.config, slog.New(slog.DiscardHandler)).Execute(w.Context(), work[0])
			w.must(err)
			w.outcomes = append(w.outcomes, out)
			continue
		}
		w.clock.advance(time.Hour)
		promoted, err := w.store.Promote(w.Context(), 100)
		w.must(err)
		replaced, err := plans.Reslice(w.Context())
		w.must(err)
		if promoted == 0 && replaced == 0 {
			return
		}
	}
}

// holes are works of the day that are neither stored at their version nor in
// quarantine.
func (w *formWorld) holes() (out []string) {
	w.Helper()
	records, err := w.store.Records(w.Context(), w.compiled.Snapshot.Source, simulated.Endpoint, nil, 10_000)
	w.must(err)
	stored := map[string]view.Record{}
	for _, r := range records {
		stored[r.ID] = r
	}
	aside, err := w.store.Quarantine(w.Context(), w.compiled.Snapshot.Source, 0, 10_000)
	w.must(err)
	for truth := range w.data.Heads() {
		got, ok := stored[truth.DOI]
		switch {
		case ok && got.UpdatedAt.Equal(truth.Indexed):
		case slices.ContainsFunc(aside, func(q view.Rejected) bool { return strings.Contains(string(q.Raw), truth.DOI) }):
		case truth.Indexed.Before(dayFrom) || !truth.Indexed.Before(dayTo):
		default:
			out = append(out, truth.DOI)
		}
	}
	return out
}

// covered reports whether the ledger believes that the day was read.
func (w *formWorld) believed() bool {
	w.Helper()
	cursors, err := w.store.Cursors(w.Context(), w.compiled.Snapshot.Source)
	w.must(err)
	return len(cursors) == 1 && cursors[0].Instant.Equal(dayTo)
}

func (w *formWorld) story() string {
	var out []string
	for _, o := range w.outcomes {
		out = append(out, fmt.Sprintf("%s %s %s (%d requests, %d seen, %d restarts)", o.Task, o.Code, o.Error, o.Stats.Requests, o.Stats.Seen, o.Stats.Restarts))
	}
	return strings.Join(out, "\n  ")
}

// whole expects that everything is there and known to be.
func (w *formWorld) whole() {
	w.Helper()
	if holes := w.holes(); len(holes) > 0 || !w.believed() {
		w.Errorf("%d holes, believed read: %v\n  %s", len(holes), w.believed(), w.story())
	}
	w.checked()
}

// honest expects that nothing counts as read that is not there (I2).
func (w *formWorld) honest() {
	w.Helper()
	if holes := w.holes(); len(holes) > 0 && w.believed() {
		w.Errorf("a silent hole: %d works are missing and the day counts as read\n  %s", len(holes), w.story())
	}
	w.checked()
}

func (w *formWorld) checked() {
	w.Helper()
	cursors, err := w.store.Cursors(w.Context(), w.compiled.Snapshot.Source)
	w.must(err)
	for _, c := range cursors {
		verdict, err := w.store.Verify(w.Context(), c.ID)
		w.must(err)
		for _, p := range verdict.Problems {
			w.Error(p)
		}
	}
}

// Every form of paging reads everything: a number of items that ends within a
// page, one that fills the last page, one page, and none.
func TestEveryPagingForm(t *testing.T) {
	for _, f := range simulated.PagingForms() {
		for _, items := range []int{45, 40, 7, 0} {
			t.Run(fmt.Sprint(f.Name, "/", items), func(t *testing.T) {
				w := startForm(t, f, items, "")
				w.harvest()
				w.whole()
			})
		}
	}
}

// distinct leaves out the forms that differ from others only in how a request is
// written.
func distinct() []simulated.Form {
	return slices.DeleteFunc(simulated.PagingForms(), func(f simulated.Form) bool {
		return slices.Contains([]string{"token-header", "token-form", "links-relative", "search-form", "search-json", "page0"}, f.Name)
	})
}

// strikes: a fault may have nothing to work on in a form of paging, such as a
// token that expires where pages have numbers. A test of that would test nothing.
func strikes(fault, form string) bool {
	kind, where, _ := strings.Cut(fault, "@")
	named := strings.HasPrefix(form, "token") || strings.HasPrefix(form, "links")
	switch kind {
	case "token-loop", "expire-cursor":
		return named
	case "lost-next":
		return named || form == "more"
	case "total-missing", "total-falling":
		return form != "offset-blind" && form != "time"
	case "repeat-last": // the others ask for nothing behind the end
		return form == "offset-blind"
	case "withhold":
		return strings.HasPrefix(form, "search")
	}
	onePage := form == "time"
	return !onePage || !strings.HasPrefix(where, "page:") && !strings.HasPrefix(kind, "shift-")
}

// struck expects that the fault happened.
func (w *formWorld) struck() {
	w.Helper()
	if !slices.ContainsFunc(w.server.Log(), func(e upsim.Entry) bool { return e.Fault != "" }) {
		w.Error("the fault never struck: this tests nothing")
	}
}

// Faults that strike once; afterwards the upstream behaves. Everything is read
// all the same.
func TestEveryPagingFormSurvivesAFault(t *testing.T) {
	for _, f := range distinct() {
		for _, fault := range []string{
			"duplicate-page@page:3:times=1", "shift-insert@page:3:times=1", "shift-remove@page:3:times=1", "token-loop@page:3:times=1",
			"lost-next@page:2:times=1", "short-page@page:2:times=1", "empty-page@page:3:times=1",
			"expire-cursor@page:3:times=1:status=404", "expire-cursor@page:3:times=1:status=400", "expire-cursor@page:3:times=1:status=200",
			"total-missing@page:2:times=1", "500@2-3", "html-200@3", "error-200@2", "empty-200@3", "truncate-json@2", "lost-answer@3", "reset@2",
		} {
			if f.Name == "time" && strings.HasPrefix(fault, "empty-200") {
				continue // an empty list is a good answer, and nothing in it tells that this one is not
			}
			if !strikes(fault, f.Name) {
				continue
			}
			t.Run(f.Name+"/"+fault, func(t *testing.T) {
				w := startForm(t, f, 45, fault)
				w.harvest()
				w.struck()
				w.whole()
			})
		}
	}
}

// Faults that never end may keep a slice from being read; they must never let it
// count as read.
func TestNoFaultLeavesASilentHole(t *testing.T) {
	for _, f := range distinct() {
		for _, fault := range []string{
			"duplicate-page@page:3", "token-loop@page:3", "lost-next@page:2", "short-page@page:2", "empty-page@page:3",
			"expire-cursor@page:3", "total-missing@*", "total-falling@*", "withhold@path:/forms/records", "repeat-last@page:6", "shift-insert@every:2", "500@page:3",
		} {
			settings := []string{"retry.taskAttempts=2"}
			if f.Name == "offset-blind" {
				if strings.HasPrefix(fault, "empty-page") {
					continue // the same place empty in every reading, and no total: nothing tells it from the end
				}
				settings = append(settings, "paging.tailProbe=true")
			}
			if !strikes(fault, f.Name) {
				continue
			}
			t.Run(f.Name+"/"+fault, func(t *testing.T) {
				w := startForm(t, f, 45, fault, settings...)
				w.config.MaxRestarts = 4
				w.harvest()
				w.struck()
				w.honest()
			})
		}
	}
}

// D§5.12: an upstream that serves only the first items of a query is asked for
// smaller windows, however it tells; what cannot be cut further fails loudly.
func TestCappedUpstream(t *testing.T) {
	for _, f := range distinct() {
		name := f.Name
		if name == "time" || strings.HasPrefix(name, "keyset") {
			continue // there is no place in the list to be too deep at
		}
		for _, answer := range []upsim.CapAnswer{upsim.CapSilent, upsim.CapError, upsim.CapError200} {
			t.Run(fmt.Sprint(name, "/", answer), func(t *testing.T) {
				f.Options.Forms.Cap, f.Options.Forms.CapAnswer = 20, answer
				w := startForm(t, f, 120, "", "paging.maxResults=20")
				w.harvest()
				w.whole()
				if children := len(w.outcomes); children < 7 {
					t.Errorf("%d slices can hold 20 each", children)
				}
			})
		}
	}
}

// A minute that holds more than is served cannot be cut: its window stays owed.
func TestCappedAtTheFinestCut(t *testing.T) {
	f := formNamed(t, "offset")
	f.Options.Forms.Cap = 20
	w := startForm(t, f, 120, "", "paging.maxResults=20", "slicing.minStep=P1D", "window.minWindow=P1D")
	w.harvest()
	if w.believed() || len(w.holes()) == 0 {
		t.Errorf("100 works cannot be had, and the day counts as read: %s", w.story())
	}
	w.checked()
	tasks, err := w.store.Tasks(t.Context(), view.Filter{})
	w.must(err)
	if len(tasks) != 1 || tasks[0].Status != "FAILED" || tasks[0].ErrorCode != "CAPPED" {
		t.Errorf("%+v", tasks)
	}
}

// Pages that move while they are read are read until two readings agree.
func TestMovingPages(t *testing.T) {
	for _, name := range []string{"offset", "offset-blind", "page", "more", "search"} {
		t.Run(name, func(t *testing.T) {
			f := formNamed(t, name)
			f.Options.Forms.Changing = upsim.Changing{Every: 3, Times: 4, Change: true}
			w := startForm(t, f, 45, "")
			w.harvest()
			w.whole()
		})
	}
}
