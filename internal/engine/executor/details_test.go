package executor

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// §4.6: one id of many makes every request that names it fail. It is found by
// halves and set aside; all others arrive.
func TestPoisonedDetail(t *testing.T) {
	for _, name := range []string{"search", "search-form", "search-xml"} {
		for _, kind := range []string{"500", "broken-json", "reset"} {
			if name == "search-xml" && kind == "broken-json" {
				continue // a fault of JSON answers
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				f := formNamed(t, name)
				w := startForm(t, f, 200, "", "details.batchSize=50", "paging.size=100")
				poison := w.nth(137)
				w.faults(kind + "@path:/forms/records:id=" + poison)
				w.harvest()
				w.whole()
				aside, err := w.store.Quarantine(t.Context(), w.compiled.Snapshot.Source, 0, 100)
				w.must(err)
				if len(aside) != 1 || aside[0].ProviderID != poison || aside[0].Reason != "DETAIL_FAILED" {
					t.Errorf("%+v", aside)
				}
				if s := w.outcomes[0].Stats; len(w.outcomes) != 1 || s.Inserted != 199 || s.Quarantined != 1 || s.Found != 200 || !s.Balanced() {
					t.Errorf("%s: %+v", w.story(), s)
				}
				// 2 × (search + 2 batches), and the search for the one: two tries at each of six halvings and back.
				if n := w.server.Requests(); n > 45 {
					t.Errorf("%d requests", n)
				}
			})
		}
	}
}

// While the details are down nobody is blamed: no id goes to quarantine.
func TestDetailsDown(t *testing.T) {
	w := startForm(t, formNamed(t, "search"), 45, "503@path:/forms/records", "retry.taskAttempts=2")
	w.harvest()
	if s := w.outcomes[0].Stats; len(w.outcomes) != 2 || s.Quarantined != 0 || w.outcomes[1].Task != ingest.TaskFailed || w.outcomes[1].Code != "SERVER_ERROR" {
		t.Error(w.story())
	}
	if n := w.server.Requests(); n > 80 {
		t.Errorf("%d requests to an upstream that is down", n)
	}
	w.honest()
}

// §11.6: an id without a detail is asked for once more and then set aside. It is also
// where ids without a detail count as deleted, as long as it was never stored (I2).
func TestMissingDetail(t *testing.T) {
	for policy, want := range map[string]int{"RECHECK": 1, "QUARANTINE": 1, "GONE": 1} {
		t.Run(policy, func(t *testing.T) {
			w := startForm(t, formNamed(t, "search"), 20, "", "details.missing="+policy, "paging.size=100")
			victim := w.nth(4)
			w.onPath("/forms/records", func() { _ = w.data.Remove(victim) })
			w.harvest()
			aside, err := w.store.Quarantine(t.Context(), w.compiled.Snapshot.Source, 0, 100)
			w.must(err)
			if len(aside) != want || want > 0 && (aside[0].ProviderID != victim || aside[0].Reason != "MISSING_DETAIL") {
				t.Errorf("%+v", aside)
			}
			s := w.outcomes[0].Stats
			if w.outcomes[0].Task != ingest.TaskSucceeded || s.Inserted != 19 || !s.Balanced() {
				t.Errorf("%s %+v", w.story(), s)
			}
			records := 0
			for _, e := range w.server.Log() {
				if e.Path == "/forms/records" {
					records++
				}
			}
			if extra := map[string]int{"RECHECK": 1}[policy]; records != 3+extra {
				t.Errorf("%d detail requests", records)
			}
		})
	}
}

// §4.11: with a status that a source declares the upstream says that it has no
// such id. The id is accounted for, by details.missing, and never forgotten; a
// status that is not declared blames the request.
func TestIgnoredStatusIsAMissingDetail(t *testing.T) {
	for reason, declare := range map[string]func(*fault.RetryPolicy){
		"MISSING_DETAIL": func(p *fault.RetryPolicy) { p.IgnoreStatus = []int{422} },
		"DETAIL_FAILED":  func(p *fault.RetryPolicy) { p.GiveUpStatus = []int{422} },
	} {
		t.Run(reason, func(t *testing.T) {
			w := startForm(t, formNamed(t, "search"), 20, "", "paging.size=100", "details.batchSize=1")
			declare(&w.compiled.Snapshot.Detail.Retry)
			compiled, err := w.compiled.Snapshot.Compiled()
			w.must(err)
			w.compiled = compiled
			victim := w.nth(4)
			w.chain = transport.StackSigned(refusing{httpclient.New(httpclient.Options{}), victim}, nil, rategate.New())
			w.harvest()
			aside, err := w.store.Quarantine(t.Context(), w.compiled.Snapshot.Source, 0, 100)
			w.must(err)
			if len(aside) != 1 || aside[0].ProviderID != victim || aside[0].Reason != reason {
				t.Errorf("%+v", aside)
			}
			if s := w.outcomes[0].Stats; w.outcomes[0].Task != ingest.TaskSucceeded || s.Inserted != 19 || s.Quarantined != 1 || !s.Balanced() {
				t.Errorf("%s %+v", w.story(), s)
			}
		})
	}
}

// refusing is an upstream that answers requests which name an id with 422.
type refusing struct {
	transport.Sender
	id string
}

func (r refusing) Send(ctx context.Context, in *exchange.Request) (*exchange.Response, error) {
	if strings.Contains(in.URL.Path, "/records") && strings.Contains(in.URL.Query().Encode(), url.QueryEscape(r.id)) {
		return &exchange.Response{Status: 422, Header: exchange.Header{}, Body: []byte("{}")}, nil
	}
	return r.Sender.Send(ctx, in)
}

// A run that dies between two detail batches goes on with the next one: neither
// the search nor a detail is asked for again.
func TestDetailsGoOnWhereTheyWere(t *testing.T) {
	w := startForm(t, formNamed(t, "search"), 45, "", "paging.size=100")
	w.planDay()
	first := w.claim("first")
	if _, err := w.executor(&dyingAfter{Store: w.store, commits: 3}).Execute(t.Context(), first); err == nil {
		t.Fatal("it lived")
	}
	before := w.server.Requests()
	w.takeOver()
	w.work()
	w.whole()
	// One search and two of six batches were committed; the third was asked for and lost.
	if again := w.server.Requests() - before; again != 4 {
		t.Errorf("%d requests after %d", again, before)
	}
}

func formNamed(t *testing.T, name string) simulated.Form {
	t.Helper()
	for _, f := range simulated.Forms() {
		if f.Name == name {
			return f
		}
	}
	t.Fatal("no form " + name)
	return simulated.Form{}
}

// nth is the id of a work.
func (w *formWorld) nth(n int) string {
	for truth := range w.data.Heads() {
		if n--; n == 0 {
			return truth.DOI
		}
	}
	w.Fatal("too few works")
	return ""
}

// onPath does something when a path is asked for the first time.
func (w *formWorld) onPath(path string, do func()) {
	done := false
	w.must(w.server.SetFaults([]upsim.Fault{{Kind: upsim.FaultSlow, Delay: time.Microsecond, Path: path, When: func(upsim.Hit) bool {
		if !done {
			done = true
			do()
		}
		return false
	}}}))
}

// dyingAfter is the store of a worker that dies at a commit.
type dyingAfter struct {
	*store.Store
	commits int
}

func (d *dyingAfter) CommitBatch(ctx context.Context, b ingest.BatchCommit) (ingest.BatchResult, error) {
	if d.commits--; d.commits < 0 {
		return ingest.BatchResult{}, errDied
	}
	return d.Store.CommitBatch(ctx, b)
}

func (d *dyingAfter) FinishRun(ctx context.Context, f ingest.Finish) error {
	if d.commits < 0 {
		return errDied
	}
	return d.Store.FinishRun(ctx, f)
}
