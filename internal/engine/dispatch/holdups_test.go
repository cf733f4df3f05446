package dispatch

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// §4.10.6: nothing of a key that cools down is taken, so that all workers serve
// the others; when the wait is over, it is.
func TestCoolingKeyIsNotDequeued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := &line{limits: map[int64]int{1: 10, 2: 10}}, time.Now()
		for i := range int64(4) {
			l.add(waiting{id: 10 + i, partition: 1, priority: 10}, waiting{id: 20 + i, partition: 2, priority: 90})
		}
		cool := began.Add(30 * time.Second)
		cooling := func(key string) time.Duration {
			if key != "key-1" {
				return 0
			}
			return max(time.Until(cool), 0)
		}
		var log bytes.Buffer
		c := &crew{line: l, takes: time.Second}
		d := New(l, c, Config{Workers: 4, Cooling: cooling}, slog.New(slog.NewTextHandler(&log, nil)))
		if err := d.Run(t.Context(), l.empty); err != nil {
			t.Fatal(err)
		}
		for i := range int64(4) {
			if at := c.began[10+i]; at.Before(cool) || at.After(cool.Add(2*time.Second)) {
				t.Errorf("task %d of the key began %v after the start", 10+i, at.Sub(began))
			}
			if at := c.began[20+i]; at.Sub(began) > time.Second {
				t.Errorf("task %d of another key waited %v for a worker", 20+i, at.Sub(began))
			}
		}
		if n := strings.Count(log.String(), "no tasks are taken"); n != 1 || !strings.Contains(log.String(), "reason=COOLING") {
			t.Errorf("told %d times:\n%s", n, &log)
		}
		if n := strings.Count(log.String(), "tasks are taken again"); n != 1 {
			t.Errorf("its end was told %d times", n)
		}
	})
}

// A breaker that is open is told once when it opens, once more if it stays open
// for longer, and once when it is over.
func TestHoldupsAreToldOnce(t *testing.T) {
	noon := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	h := newHoldups(slog.New(slog.NewTextHandler(&log, nil)))
	q := ingest.Queue{Partition: source(1), RateKey: "key-1"}
	look := func(at time.Time) string {
		log.Reset()
		h.noteHeld([]ingest.Queue{q}, at)
		return log.String()
	}
	if said := look(noon); said != "" {
		t.Error(said)
	}
	q.Breaker = fault.Breaker{Failures: 3, Opened: 1, OpenUntil: noon.Add(time.Minute)}
	if said := look(noon); !strings.Contains(said, "level=WARN") || !strings.Contains(said, "reason=BREAKER") || !strings.Contains(said, "until=2025-03-01T12:01:00") {
		t.Error(said)
	}
	if said := look(noon.Add(time.Second)); said != "" {
		t.Error(said)
	}
	q.Breaker.Opened, q.Breaker.OpenUntil = 2, noon.Add(10*time.Minute)
	if said := look(noon.Add(time.Minute)); !strings.Contains(said, "reason=BREAKER") {
		t.Error(said)
	}
	q.Breaker, q.CoolingUntil, q.CoolingCode = fault.Breaker{}, noon.Add(time.Hour), gate.Quota
	if said := look(noon.Add(11 * time.Minute)); !strings.Contains(said, "reason=QUOTA") {
		t.Error(said)
	}
	if said := look(noon.Add(2 * time.Hour)); !strings.Contains(said, "tasks are taken again") {
		t.Error(said)
	}
	if said := look(noon.Add(2 * time.Hour)); said != "" {
		t.Error(said)
	}
}
