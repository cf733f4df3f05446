package planner

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/window"
)

// The hint says what the source declares, and nothing where the upstream decides:
// Crossref by cursor promises no order.
func TestHintTellsTheDeclaredOrder(t *testing.T) {
	s := crossrefFor(t, ingest.Harvest).Snapshot
	field := s.Filter.Field
	if got := slicingRequest(s, nil).Order; got != "" {
		t.Errorf("nothing is declared, and the hint is %q", got)
	}
	s.Window.Ordered = true
	if got := slicingRequest(s, nil).Order; got != field {
		t.Errorf("sorted by %s from either end, and the hint is %q", field, got)
	}
	for order, want := range map[window.Order]string{window.Ascending: field + ":asc", window.Descending: field + ":desc"} {
		s.Window.Order = order
		if got := slicingRequest(s, nil).Order; got != want {
			t.Errorf("%s is declared, and the hint is %q", order, got)
		}
	}
	s.Window.Order = ""
	s.Paging.Type = paging.Time
	if got := slicingRequest(s, nil).Order; got != field+":asc" {
		t.Errorf("pages follow %s, and the hint is %q", field, got)
	}
}
