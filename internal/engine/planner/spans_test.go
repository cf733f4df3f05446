package planner

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/span"
)

// notebook records spans in memory.
type notebook struct{ spans []*noted }

// noted is a span with the name of the one around it.
type noted struct {
	span.Beginning
	around     string
	attributes map[string]span.Attribute
	ended      bool
	no         int
}

type aroundKey struct{}

func (n *notebook) Record(ctx context.Context, b span.Beginning) (context.Context, span.Recorded) {
	around, _ := ctx.Value(aroundKey{}).(string)
	if b.Root {
		around = ""
	}
	s := &noted{Beginning: b, around: around, attributes: map[string]span.Attribute{}, no: len(n.spans)}
	n.spans = append(n.spans, s)
	return context.WithValue(ctx, aroundKey{}, b.Name), s
}

func (s *noted) IsKept() bool { return !s.ended }
func (s *noted) Note(attributes []span.Attribute) {
	for _, a := range attributes {
		s.attributes[a.Key] = a
	}
}
func (s *noted) Fail(string, string) {}
func (s *noted) End()                { s.ended = true }
func (s *noted) Traceparent() string { return fmt.Sprintf("span %d", s.no) }

// A plan with thousands of slices has few spans: each of the first slices its own, the
// others one for each chunk, and together they tell of all. All tasks know the span of the
// trigger.
func TestSpansOfALargePlanAreBounded(t *testing.T) {
	s, c := database(t), crossref(t)
	r := ask("a")
	r.From, r.To = ptr("2018-05-01"), ptr("2025-03-01") // one slice a day
	book := &notebook{}
	p := New(s)
	p.Spans = book
	stored, d, err := p.Plan(t.Context(), c, r)
	if err != nil || len(d.Slices) <= 2*chunk {
		t.Fatalf("%d slices, %v", len(d.Slices), err)
	}
	own, told := 0, 0
	for _, one := range book.spans {
		if !one.ended {
			t.Errorf("%s was not ended", one.Name)
		}
		if one.Name != span.Slice {
			continue
		}
		own++
		told += int(max(one.attributes[span.SliceCount].Number, 1))
		if one.around != span.Trigger || one.At.IsZero() || one.attributes[span.PlanID].Number != stored.ID {
			t.Errorf("%+v", one)
		}
	}
	if first := book.spans[0]; first.Name != span.Trigger || first.attributes[span.PlanID].Number != stored.ID || len(book.spans) != 1+own {
		t.Errorf("%+v and %d more", first, len(book.spans)-1)
	}
	if own != mostSliceSpans+3 || told != len(d.Slices) {
		t.Errorf("%d spans tell of %d slices, want %d and %d", own, told, mostSliceSpans+3, len(d.Slices))
	}
	queues, err := s.Queues(t.Context())
	if err != nil || len(queues) != 1 {
		t.Fatalf("%v, %v", queues, err)
	}
	work, err := s.Claim(t.Context(), ingest.ClaimRequest{PartitionID: queues[0].PartitionID, Owner: "test", Token: "claim", Lease: time.Minute, Max: 3})
	if err != nil || len(work) != 3 {
		t.Fatalf("%d tasks, %v", len(work), err)
	}
	for _, w := range work {
		if w.PlannedIn != "span 0" {
			t.Errorf("planned in %q", w.PlannedIn)
		}
	}
}
