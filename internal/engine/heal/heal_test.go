package heal

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

var works = ingest.Partition{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Operation: ingest.Harvest}

// shelf is a store that keeps the last note.
type shelf struct {
	notes  []ingest.HealthNote
	known  []ingest.ConditionNote
	steps  int64
	waited time.Duration
	broken error
}

func (s *shelf) NoteHealth(_ context.Context, n ingest.HealthNote) error {
	s.notes = append(s.notes, n)
	return s.broken
}

func (s *shelf) HealthOf(context.Context, ingest.Partition) ([]ingest.ConditionNote, error) {
	return s.known, s.broken
}

func (s *shelf) Waits() (int64, time.Duration) { return s.steps, s.waited }

func inBubble(t *testing.T, test func(b *Conditions, s *shelf, log *bytes.Buffer)) {
	synctest.Test(t, func(t *testing.T) {
		s, log := &shelf{}, &bytes.Buffer{}
		test(New(s, "me", slog.New(slog.NewTextHandler(log, nil))), s, log)
	})
}

func size(ctx context.Context, b *Conditions) int {
	n, _ := b.PageSize(ctx, works, 100)
	return n
}

func pages(b *Conditions, n int, s health.Sample) (out []health.Change) {
	for range n {
		<-time.After(time.Second)
		out = append(out, b.Page(context.Background(), works, s)...)
	}
	return out
}

// Measured, named, acted on, stored, and taken back.
func TestFromMeasureToActAndBack(t *testing.T) {
	inBubble(t, func(b *Conditions, s *shelf, log *bytes.Buffer) {
		ctx := t.Context()
		if b.Concurrency(ctx, works, 8) != 8 || size(ctx, b) != 100 || len(s.notes) != 0 {
			t.Fatal("nothing is known, and yet something is lowered")
		}
		if changes := pages(b, 20, health.Sample{Requests: 1, Took: 4 * time.Second}); len(changes) != 1 || !changes[0].Began() {
			t.Fatalf("%v", changes)
		}
		if b.Concurrency(ctx, works, 8) != 4 || size(ctx, b) != 50 {
			t.Error("slow, and nothing is lowered")
		}
		if len(s.notes) != 1 || s.notes[0].Owner != "me" || s.notes[0].InForce[0].Condition != health.Slow || !strings.Contains(s.notes[0].InForce[0].Detail, "4.00 s") {
			t.Errorf("stored %+v", s.notes)
		}
		other := works
		other.Operation = ingest.Backfill
		if b.Concurrency(ctx, other, 8) != 8 {
			t.Error("another partition is lowered too")
		}
		pages(b, 31, health.Sample{Requests: 1, Took: time.Second})
		if b.Concurrency(ctx, works, 8) != 8 || size(ctx, b) != 100 || len(s.notes) != 2 || len(s.notes[1].InForce) != 0 {
			t.Errorf("fast again, and it is not taken back: %+v", s.notes)
		}
		if strings.Count(log.String(), "msg=condition ") != 1 || strings.Count(log.String(), "condition eased") != 1 {
			t.Errorf("%s", log)
		}
	})
}

// What is in force is stored again before it runs out, and ends by itself when
// nothing more is heard.
func TestRenewalAndSilence(t *testing.T) {
	inBubble(t, func(b *Conditions, s *shelf, _ *bytes.Buffer) {
		pages(b, 20, health.Sample{Requests: 2, Throttled: 1})
		for range 9 * 60 {
			<-time.After(time.Second)
			b.Judge(t.Context())
		}
		last := s.notes[len(s.notes)-1]
		if n := len(s.notes); n != 4 || last.For != valid || len(last.InForce) != 1 {
			t.Errorf("%d notes, the last %+v", n, last)
		}
		for range 2 * 60 {
			<-time.After(time.Second)
			b.Judge(t.Context())
		}
		if last := s.notes[len(s.notes)-1]; len(last.InForce) != 0 || b.Concurrency(t.Context(), works, 8) != 8 {
			t.Errorf("%+v", last)
		}
	})
}

// The time writes wait for the database is that between two samples.
func TestQueueTime(t *testing.T) {
	inBubble(t, func(b *Conditions, s *shelf, _ *bytes.Buffer) {
		s.steps, s.waited = 1000, 0
		for range 25 {
			s.steps, s.waited = s.steps+10, s.waited+10*300*time.Millisecond
			pages(b, 1, health.Sample{Requests: 1})
		}
		if c, paused := ingest.Holding(s.notes[len(s.notes)-1].InForce); !paused || c.Condition != health.StoreBusy {
			t.Errorf("%+v", s.notes)
		}
	})
}

// What a process before us found is where we begin.
func TestWhatIsKnownIsTakenOver(t *testing.T) {
	inBubble(t, func(b *Conditions, s *shelf, _ *bytes.Buffer) {
		s.known = []ingest.ConditionNote{{InForce: health.InForce{Condition: health.HeavyPages, Level: 2}, Detail: "9 MB"}}
		if got := size(t.Context(), b); got != 25 {
			t.Errorf("pages of %d", got)
		}
	})
}

// Advice must not fail a task.
func TestAStoreThatRefuses(t *testing.T) {
	inBubble(t, func(b *Conditions, s *shelf, log *bytes.Buffer) {
		s.broken = errors.New("disk full")
		pages(b, 20, health.Sample{Requests: 1, Took: 4 * time.Second})
		if size(t.Context(), b) != 50 || !strings.Contains(log.String(), "disk full") {
			t.Errorf("%s", log)
		}
	})
}

// Who leaves keeps nobody waiting, and leaves what the next should know.
func TestClose(t *testing.T) {
	inBubble(t, func(b *Conditions, s *shelf, _ *bytes.Buffer) {
		for range 10 {
			b.Task(t.Context(), works, false)
		}
		pages(b, 5, health.Sample{Requests: 1, Bytes: 9 << 20})
		if _, paused := ingest.Holding(s.notes[len(s.notes)-1].InForce); !paused {
			t.Fatalf("%+v", s.notes)
		}
		b.Close(t.Context())
		last := s.notes[len(s.notes)-1].InForce
		if len(last) != 1 || last[0].Condition != health.HeavyPages {
			t.Errorf("%+v", last)
		}
	})
}
