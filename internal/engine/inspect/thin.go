package inspect

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

const (
	// thinSettles is how long a day must be over before it is judged: some upstreams have the
	// last items of a day hours later.
	thinSettles = 6 * time.Hour
	// thinReading is how long a slice may be to say something about a day.
	thinReading = 36 * time.Hour
	// mostThinCounts bounds the history that is read of an endpoint: harvests every five
	// minutes leave 14,000 rows in seven weeks.
	mostThinCounts = 30_000
)

// addThin adds endpoints that hold far fewer items of a day than history says: an upstream that
// answers with a part of what it has leaves no other trace.
func (s *statusBuilder) addThin(ctx context.Context) error {
	found, wrong := make([][]view.ThinDay, len(s.marks)), make([]error, len(s.marks))
	s.eachTogether(len(s.marks), func(n int) { found[n], wrong[n] = s.findThin(ctx, s.marks[n].of, s.beside.glances[n]) })
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	for n, m := range s.marks {
		thin := found[n]
		if len(thin) == 0 {
			continue
		}
		s.find(view.Finding{Code: view.FoundThin, Subject: view.Subject{Source: m.of.Source, Endpoint: m.of.Endpoint, CursorID: m.of.Cursor.ID}, Since: thin[0].Window.To, Count: len(thin), Thin: thin})
	}
	return nil
}

// readGlances reads what the newest days of all endpoints held, as far back as a first judgement
// needs. Most endpoints are done with that.
func (s *statusBuilder) readGlances(ctx context.Context) ([][]ingest.WindowCount, error) {
	wanted := make([]ingest.WindowsWanted, len(s.marks))
	for n, m := range s.marks {
		wanted[n] = ingest.WindowsWanted{Dataset: m.of.dataset(), Question: m.of.Asks.Question}
		if s.limitsOf(m.of.dataset()).ThinShare > 0 {
			wanted[n].Within = s.newestDays(m.of, threshold.ThinGlance)
		}
	}
	return s.from.Readings.WindowItemsOf(ctx, wanted, mostThinCounts)
}

// newestDays returns the newest days of an endpoint that are judged: below its watermark, and over
// for long enough.
func (s *statusBuilder) newestDays(b EndpointCoverage, days int) window.Window {
	end := Day.floor(window.Earlier(b.Cursor.Instant, s.report.Now.Add(-thinSettles)))
	return window.Window{From: end.AddDate(0, 0, -days), To: end}
}

// findThin lists the thin days of an endpoint among the newest that lie below its watermark.
func (s *statusBuilder) findThin(ctx context.Context, b EndpointCoverage, glance []ingest.WindowCount) (out []view.ThinDay, err error) {
	share := s.limitsOf(b.dataset()).ThinShare
	if share == 0 || !threshold.MayBeThin(countDays(glance, s.newestDays(b, threshold.ThinGlance)), share) {
		return nil, nil
	}
	within := s.newestDays(b, threshold.ThinHistory)
	history, err := s.from.Readings.WindowItems(ctx, b.dataset(), b.Asks.Question, within, mostThinCounts)
	if err != nil {
		return nil, err
	}
	days := countDays(history, within)
	for _, d := range threshold.Thin(days, share) {
		one := view.ThinDay{Window: window.Window{From: d.Start, To: Day.next(d.Start)}, Items: d.Items, Usual: d.Usual}
		explained, err := s.isExplained(ctx, b, one)
		if err != nil {
			return nil, err
		}
		if !explained {
			out = append(out, one)
		}
	}
	return out, nil
}

// countDays returns what days held, those that were read wholly.
func countDays(history []ingest.WindowCount, within window.Window) (out []threshold.Day) {
	counts := ingest.NewCounts(history)
	for at := within.From; at.Before(within.To); at = Day.next(at) {
		if items, measured := counts.Measured(window.Window{From: at, To: Day.next(at)}, thinReading); measured {
			out = append(out, threshold.Day{Start: at, Items: items})
		}
	}
	return out
}
