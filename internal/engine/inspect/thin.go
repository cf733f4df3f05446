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
	s.eachTogether(len(s.marks), func(n int) { found[n], wrong[n] = s.findThin(ctx, s.marks[n].of) })
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

// findThin lists the thin days of an endpoint among the newest that lie below its watermark.
func (s *statusBuilder) findThin(ctx context.Context, b EndpointCoverage) (out []view.ThinDay, err error) {
	hash, err := b.Compiled.Prototype.Hash()
	if err != nil {
		return nil, err
	}
	share := s.limitsOf(b.dataset()).ThinShare
	if share == 0 {
		return nil, nil
	}
	end := Day.floor(window.Earlier(b.Cursor.Instant, s.report.Now.Add(-thinSettles)))
	days, err := s.countDays(ctx, b, hash, end, threshold.ThinGlance)
	if err != nil || !threshold.MayBeThin(days, share) {
		return nil, err
	}
	if days, err = s.countDays(ctx, b, hash, end, threshold.ThinHistory); err != nil {
		return nil, err
	}
	for _, d := range threshold.Thin(days, share) {
		one := view.ThinDay{Window: window.Window{From: d.Start, To: Day.next(d.Start)}, Items: d.Items, Usual: d.Usual}
		explained, err := s.isExplained(ctx, b, hash, one)
		if err != nil {
			return nil, err
		}
		if !explained {
			out = append(out, one)
		}
	}
	return out, nil
}

// countDays returns what the last days before an instant held, those that were read wholly.
func (s *statusBuilder) countDays(ctx context.Context, b EndpointCoverage, hash string, end time.Time, days int) (out []threshold.Day, err error) {
	within := window.Window{From: end.AddDate(0, 0, -days), To: end}
	history, err := s.from.Readings.WindowItems(ctx, b.Compiled.Snapshot.Dataset(), hash, within, mostThinCounts)
	if err != nil {
		return nil, err
	}
	counts := ingest.NewCounts(history)
	for at := within.From; at.Before(end); at = Day.next(at) {
		if items, measured := counts.Measured(window.Window{From: at, To: Day.next(at)}, thinReading); measured {
			out = append(out, threshold.Day{Start: at, Items: items})
		}
	}
	return out, nil
}
