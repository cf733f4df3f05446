package inspect

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

func march(day int) time.Time { return time.Date(2025, 3, day, 0, 0, 0, 0, time.UTC) }

func days(from, to int) window.Window { return window.Window{From: march(from), To: march(to)} }

// D§5.7: once the source asks for something else, the time the old question
// covered is a gap, however far the new one has come since.
func TestChangedQuestionIsAGap(t *testing.T) {
	old, young := view.Cursor{ID: 1, Origin: march(1)}, view.Cursor{ID: 9, Origin: march(2)}
	for name, c := range map[string]struct {
		book   EndpointCoverage
		others []view.Cursor
		want   Earlier
	}{
		"nothing else was asked":       {EndpointCoverage{Cursor: view.Cursor{ID: 5, Origin: march(3)}}, nil, Earlier{}},
		"the source asked otherwise":   {EndpointCoverage{Cursor: view.Cursor{ID: 5, Origin: march(3)}}, []view.Cursor{old}, Earlier{1, march(1)}},
		"a run with overrides, later":  {EndpointCoverage{Cursor: view.Cursor{ID: 5, Origin: march(3)}}, []view.Cursor{young}, Earlier{}},
		"a question of its own, later": {EndpointCoverage{Cursor: view.Cursor{ID: 5, Origin: march(3)}}, []view.Cursor{{ID: 9, Origin: march(2), OwnSince: march(4)}}, Earlier{9, march(2)}},
		"the new question is new":      {EndpointCoverage{}, []view.Cursor{young, old}, Earlier{1, march(1)}},
		"a cursor that never began":    {EndpointCoverage{}, []view.Cursor{{ID: 2}}, Earlier{}},
	} {
		if got := c.book.furthestOf(c.others); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// The list has neither more nor less than what coverage calls a gap.
func TestGapsAreCoverageGaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segments, within := drawSegments(t), drawWindow(t)
		var listed []window.Window
		for _, g := range (EndpointCoverage{Segments: segments}).Gaps(within, false) {
			if n := len(listed); n > 0 && listed[n-1].To.After(g.Window.From) {
				t.Fatalf("%s after %s", g.Window, listed[n-1])
			}
			listed = append(listed, g.Window)
		}
		if want := coverage.Gaps(segments, within); !slices.Equal(window.Union(listed), want) {
			t.Fatalf("listed %v, gaps %v", listed, want)
		}
	})
}

func drawSegments(t *rapid.T) []coverage.Segment {
	var out []coverage.Segment
	at := march(1)
	for range rapid.IntRange(0, 12).Draw(t, "segments") {
		at = at.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "hole")) * 7 * time.Hour)
		to := at.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "length")) * time.Hour)
		s := coverage.Segment{Window: window.Window{From: at, To: to}, Want: march(20)}
		switch rapid.IntRange(0, 4).Draw(t, "history") {
		case 0, 1:
			s.Have = march(20)
		case 2:
			s.Have = march(10)
		case 3:
			s.Fails, s.RetryAfter = 2, march(21)
		}
		out = append(out, s)
		at = to
	}
	return out
}

func drawWindow(t *rapid.T) window.Window {
	from := march(1).Add(time.Duration(rapid.IntRange(-100, 400).Draw(t, "from")) * time.Hour)
	return window.Window{From: from, To: from.Add(time.Duration(rapid.IntRange(1, 1000).Draw(t, "hours")) * time.Hour)}
}

// A slice that failed over what was read before and what never was left one gap, and that is
// one finding; what has another reason is told apart.
func TestStatusTellsGapsThatTouchOnce(t *testing.T) {
	l := crossref(t)
	l.segments[1] = []coverage.Segment{
		{Window: days(1, 5), Want: march(20), Have: march(20)},
		{Window: days(5, 6), Want: march(20), Have: march(6), Fails: 1, RetryAfter: march(22)},
		{Window: days(6, 7), Want: march(20), Fails: 2, RetryAfter: march(21)},
		{Window: days(7, 8), Want: march(20)},
	}
	s := l.status(t, StatusQuery{})
	if len(s.Findings) != 2 || len(s.Sources[0].Gaps) != 3 {
		t.Fatalf("%d findings, %d gaps: %+v", len(s.Findings), len(s.Sources[0].Gaps), s.Findings)
	}
	if g := s.Findings[0].Gap; g.Window != days(5, 7) || g.Reason != view.GapFailed || g.Fails != 2 || !g.RetryAfter.Equal(march(21)) || s.Findings[1].Gap.Window != days(7, 8) {
		t.Errorf("%+v, %+v", g, s.Findings[1].Gap)
	}
}
