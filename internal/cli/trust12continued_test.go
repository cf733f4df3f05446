package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/upsim"
)

// A harvest that goes on with an earlier plan tells what it did itself, and what keeps
// slices open now: figures and reasons of the run before were told by that.
func TestTrust12AContinuedPlanCountsOnce(t *testing.T) {
	d := newDesk(t)
	upstream, err := upsim.NewServer(upsim.NewDataset(upsim.Config{Seed: 7, From: march(1), To: march(8), PerDay: 12, Flat: true}), upsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var left atomic.Int64 // requests that are answered before the key is refused
	left.Store(4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if left.Add(-1) < 0 {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		upstream.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	file := d.crossrefFile("local.yaml", "baseUrl: https://api.crossref.org", "baseUrl: "+server.URL+"\n  allowPrivate: true", "perSecond: 3", "perSecond: 1000")
	d.rows(file)
	harvest := func(code int) (s work.Summary, r result) {
		t.Helper()
		r = d.expect(code, "harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-08", "--workers", "1", "--set", "slicing.step=P1D", "--set", "slicing.maxPages=0", "-o", "json")
		if err := json.Unmarshal([]byte(r.out), &s); err != nil {
			t.Fatal(err)
		}
		return s, r
	}
	first, _ := harvest(term.ExitAuth)
	left.Store(1 << 40)
	d.expect(term.ExitOK, "source", "resume", "crossref", "--reason", "mended")
	second, r := harvest(term.ExitOK)
	if first.Stats.Inserted == 0 || len(second.Continued) != 1 || first.Stats.Inserted+second.Stats.Inserted != 7*12 {
		t.Errorf("%d new, then %d new, of %d (continued %v)", first.Stats.Inserted, second.Stats.Inserted, 7*12, second.Continued)
	}
	if len(second.Failures) > 0 || second.Slices["FAILED"] > 0 || strings.Contains(r.out, "UNAUTHORIZED") {
		t.Errorf("what failed before is told as if it were now:\n%s", r.out)
	}
}
