package executor

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// workAsOneProcess works until nothing is left to do, or a run stops the source, and gives
// all outcomes. Unlike work it keeps its executor, with what that learnt of the source.
func (w *formWorld) workAsOneProcess() (out []ingest.Outcome) {
	w.Helper()
	e := New(w.store, w.chain, nil, w.config, slog.New(slog.DiscardHandler))
	for round := range 100 {
		work, err := w.store.Claim(w.Context(), ingest.ClaimRequest{PartitionID: 1, Owner: "worker", Token: fmt.Sprint("alone-", round), Lease: time.Minute, Max: 1})
		w.must(err)
		if len(work) == 0 {
			w.clock.advance(time.Hour)
			promoted, err := w.store.Promote(w.Context(), 100)
			w.must(err)
			if promoted == 0 {
				return out
			}
			continue
		}
		o, err := e.Execute(w.Context(), work[0])
		w.must(err)
		if out = append(out, o); o.Stops {
			return out
		}
	}
	w.Fatal("the work does not end")
	return nil
}

// A path of the next page that selects nothing stops the source after the same few runs,
// whether the day is one slice or many (D§5.29).
func TestTrust12AWrongNextPathStopsOneSliceAsSoonAsMany(t *testing.T) {
	for _, step := range []string{"P1D", "PT12H", "PT3H"} {
		t.Run(step, func(t *testing.T) {
			l := &list{things: things(200)}
			w := byHand(t, l, strings.Replace(byToken, "$.next", "$.nxt", 1)+withTotal, "slicing.step="+step, "slicing.maxPages=0", "retry.taskAttempts=5")
			w.planDay()
			outcomes := w.workAsOneProcess()
			last, requests := outcomes[len(outcomes)-1], 0
			for _, o := range outcomes {
				requests += o.Stats.Requests
			}
			if !last.Stops || last.Code != "SCHEMA_CHANGE" || !strings.Contains(last.Error, "$.nxt") || len(outcomes) != 3 || requests != 7 {
				t.Errorf("after %d runs and %d requests, want 3 and 7: %+v", len(outcomes), requests, last)
			}
		})
	}
}

// A slice whose list ends too early is tried again as often as any other, if a page of
// another one named its next page.
func TestTrust12AShortSliceAmongOthersStopsNothing(t *testing.T) {
	l := &list{things: things(200)}
	l.search = func(_ *list, r *http.Request, found []thing) any {
		page := leaf(found, at(r))
		if strings.HasPrefix(r.FormValue("from"), dayFrom.Format("2006-01-02T00")) {
			page["next"] = ""
		}
		return page
	}
	w := byHand(t, l, byToken+withTotal, "slicing.step=PT12H", "slicing.maxPages=0", "retry.taskAttempts=5")
	w.config.MaxRestarts = 2
	w.planDay()
	outcomes, failed := w.workAsOneProcess(), 0
	for _, o := range outcomes {
		if o.Stops || o.Code == "SCHEMA_CHANGE" {
			t.Errorf("%+v", o)
		}
		if o.Run == ingest.RunFailed {
			failed++
		}
	}
	if failed != 5 || len(outcomes) != 6 {
		t.Errorf("%d of %d runs failed, want 5 of 6", failed, len(outcomes))
	}
}
