package trigger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/span"
)

// ticksNoted records spans as lines of text.
type ticksNoted struct{ lines []string }

type tickNoted struct {
	by   *ticksNoted
	line string
	done bool
}

func (n *ticksNoted) Record(ctx context.Context, b span.Beginning) (context.Context, span.Recorded) {
	return ctx, &tickNoted{by: n, line: fmt.Sprintf("%s root=%v", b.Name, b.Root)}
}
func (s *tickNoted) IsKept() bool { return !s.done }
func (s *tickNoted) Note(attributes []span.Attribute) {
	for _, a := range attributes {
		s.line += " " + a.Text
	}
}
func (s *tickNoted) Fail(_, code string) {
	if !s.done {
		s.line += " failed: " + code
	}
}
func (s *tickNoted) End() {
	if !s.done {
		s.done, s.by.lines = true, append(s.by.lines, s.line)
	}
}
func (s *tickNoted) Traceparent() string { return s.line }

// within is a planner that notes whose span it plans in.
type within struct {
	*process
	spans []string
}

func (w *within) Plan(ctx context.Context, j Job, t Tick) (Outcome, error) {
	w.spans = append(w.spans, span.Of(ctx).Traceparent())
	return w.process.Plan(ctx, j, t)
}

// Each tick is a trace of its own, its plan is made within, and how it ended is told: with
// a plan, with a reason why there is none, or with an error after which it is tried again.
func TestEachTickIsATrace(t *testing.T) {
	inBubble(t, func(w *world) {
		book, p := &ticksNoted{}, &within{process: &process{world: w, name: "a"}}
		s := New(p, p, p, p.listed, Config{Owner: "a", Spans: book}, slog.New(slog.DiscardHandler))
		job := Job{Partition: ingest.Partition{Dataset: ingest.Dataset{Source: "tiny", Endpoint: "works"}, Operation: ingest.Harvest}, Schedule: schedule.Schedule{Name: "tiny"}}
		for i, becomes := range []Outcome{{PlanID: 1}, {Refused: "words of a source file"}, {}} {
			w.plan = func(Job, Tick) (Outcome, error) {
				if i == 2 {
					return becomes, errors.New("words of a database")
				}
				return becomes, nil
			}
			err := s.fireTick(t.Context(), job, Tick{Key: fmt.Sprint(i), At: time.Now(), Now: time.Now()})
			if (err != nil) != (i == 2) {
				t.Errorf("tick %d: %v", i, err)
			}
		}
		const begun = "trigger root=true tiny works HARVEST"
		if want := []string{begun, begun + " failed: REFUSED", begun + " failed: ERROR"}; !slices.Equal(book.lines, want) {
			t.Errorf("%q, want %q", book.lines, want)
		}
		if want := []string{begun, begun, begun}; !slices.Equal(p.spans, want) {
			t.Errorf("planned within %q, want %q", p.spans, want)
		}
	})
}
