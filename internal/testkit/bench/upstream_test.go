package bench

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/upsim"
)

// upstream is a simulated source of whole days.
type upstream struct {
	url  string
	days []time.Time
}

// firstDay is where every simulated source begins.
var firstDay = time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)

func (u upstream) from() *time.Time { return &u.days[0] }

func (u upstream) to() *time.Time {
	end := u.days[len(u.days)-1].AddDate(0, 0, 1)
	return &end
}

type works struct{ days, perDay, bytes int }

func (w works) total() int { return w.days * w.perDay }

func startUpstream(tb testing.TB, w works, wrap func(http.Handler) http.Handler) upstream {
	tb.Helper()
	u := upstream{}
	for i := range w.days {
		u.days = append(u.days, firstDay.AddDate(0, 0, i))
	}
	data := upsim.NewDataset(upsim.Config{Seed: 7, From: *u.from(), To: *u.to(), PerDay: w.perDay, Flat: true, PayloadBytes: w.bytes})
	if data.Len() != w.total() {
		tb.Fatalf("simulated source has %d works, want %d", data.Len(), w.total())
	}
	server, err := upsim.NewServer(data, upsim.Options{Cursor: upsim.ReplayableCursor, CursorLife: 24 * time.Hour, LogLimit: -1, DisableGzip: true})
	if err != nil {
		tb.Fatal(err)
	}
	web := httptest.NewServer(wrap(server))
	tb.Cleanup(web.Close)
	u.url = web.URL
	return u
}

// remembered answers every request it has seen before from memory, the first
// page of a walk included. So walking again gives the same pages and costs the
// simulator nothing; its work would make two programs look more alike.
func remembered(next http.Handler) http.Handler {
	var pages sync.Map // request → body
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.RequestURI()
		body, known := pages.Load(key)
		if !known {
			answer := httptest.NewRecorder()
			next.ServeHTTP(answer, r)
			if answer.Code != http.StatusOK {
				w.WriteHeader(answer.Code)
				return
			}
			body, _ = pages.LoadOrStore(key, answer.Body.Bytes())
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body.([]byte)) // a client that went away is its own problem
	})
}

// compile is the bundled Crossref, pointed at the simulator and without its
// politeness.
func (u upstream) compile(tb testing.TB, overrides ...string) *spec.Compiled {
	tb.Helper()
	return compile(tb, append(u.overrides(), overrides...)...)
}

func (u upstream) overrides() []string {
	return []string{
		"http.baseUrl=" + u.url, "http.allowPrivate=true", "rate.perSecond=100000", "rate.burst=1000", "rate.concurrency=8", "rate.obeyHeaders=false",
		"paging.replayable=true", "window.safetyLag=PT0S",
	}
}

func compile(tb testing.TB, overrides ...string) *spec.Compiled {
	tb.Helper()
	src, err := daemon.Bundled("crossref")
	if err != nil {
		tb.Fatal(err)
	}
	var set []registry.Override
	for _, text := range overrides {
		o, err := registry.ParseOverride(text)
		if err != nil {
			tb.Fatal(err)
		}
		set = append(set, o)
	}
	compiled, err := daemon.Compile(src, "", ingest.Harvest, set)
	if err != nil {
		tb.Fatal(err)
	}
	return compiled
}
