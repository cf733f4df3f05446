package sim

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/upsim"
)

// journal is the upstream's own log of requests: the only witness of rates.
type journal struct {
	mu      sync.Mutex
	entries []upsim.Entry
}

func (j *journal) note(e upsim.Entry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, e)
}

// all is the log in order of arrival.
func (j *journal) all() []upsim.Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(j.entries), func(a, b upsim.Entry) int { return a.At.Compare(b.At) })
}

func (j *journal) len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.entries)
}

// good is an answer with what was asked for.
func good(e upsim.Entry) bool {
	return e.Status == 200 && strings.Trim(e.Fault, "+slow") == ""
}

// burst is how far the log is above a rate: the largest n − rate × t of n requests
// within t, over all stretches of the log. I11 allows what is declared as burst.
func burst(log []upsim.Entry, perSecond float64) (most float64) {
	lowest := 0.0
	for i, e := range log {
		ahead := float64(i) - perSecond*e.At.Sub(log[0].At).Seconds()
		lowest = min(lowest, ahead)
		most = max(most, ahead-lowest+1)
	}
	return most
}

// steady stretches: full speed is nineteen twentieths of a rate, kept for so long.
const (
	fullFor   = 20 * time.Second
	fullShare = 0.95
)

// fullSpeed is how long after an instant good answers first came at full speed.
func fullSpeed(log []upsim.Entry, from time.Time, perSecond float64) (time.Duration, bool) {
	want := int(fullShare * perSecond * fullFor.Seconds())
	var came []time.Time
	for _, e := range log {
		if good(e) && !e.At.Before(from) {
			came = append(came, e.At)
		}
	}
	for i := 0; i+want-1 < len(came); i++ {
		if came[i+want-1].Sub(came[i]) <= fullFor {
			return came[i].Sub(from), true
		}
	}
	return 0, false
}

// firstGood is how long after an instant the first good answer was asked for.
func firstGood(log []upsim.Entry, from time.Time) time.Duration {
	for _, e := range log {
		if good(e) && !e.At.Before(from) {
			return e.At.Sub(from)
		}
	}
	return 0
}

// recovered counts the answers that failed, and those of them whose task did not:
// each request names the run it was sent by.
func (w *world) recovered(db *sql.DB, log []upsim.Entry) (failed, mended int) {
	w.Helper()
	for _, e := range log {
		var run, batch int64
		if good(e) {
			continue
		}
		if _, err := fmt.Sscanf(e.Header.Get("X-Ingest-Correlation-Id"), "ing-%d-%d", &run, &batch); err != nil {
			w.Fatalf("a request without its run: %+v", e)
		}
		var status string
		w.must(db.QueryRowContext(w.Context(), "SELECT t.status_code FROM ing_task t JOIN ing_task_run r ON r.task_id = t.id WHERE r.id = ?", run).Scan(&status))
		failed++
		if status == "SUCCEEDED" || status == "PARTIAL" {
			mended++
		}
	}
	return failed, mended
}

func (s *stage) failedTasks(db *sql.DB) (n int) {
	s.Helper()
	s.must(db.QueryRowContext(s.Context(), "SELECT COUNT(*) FROM ing_task WHERE status_code = 'FAILED'").Scan(&n))
	return n
}
