package inspect

import (
	"context"
	"slices"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// mostShort bounds how many windows of a finding are looked at: more than a person reads.
const mostShort = 1000

// addShortfalls adds what an upstream counted and was not read, as it was compared last. It is
// over when a later comparison agrees, or when the window was read again and had enough.
func (s *statusBuilder) addShortfalls(ctx context.Context) error {
	short, err := s.from.Counted.ShortCounts(ctx, s.query.Source, mostShort)
	if err != nil || len(short) == 0 {
		return err
	}
	for _, m := range s.marks {
		if err := s.addShortfall(ctx, m.of, short); err != nil {
			return err
		}
	}
	return nil
}

// addShortfall adds the short windows of one endpoint as one finding.
func (s *statusBuilder) addShortfall(ctx context.Context, b EndpointCoverage, short []view.CountCheck) error {
	f := view.Finding{Code: view.FoundShortfall, Subject: view.Subject{Source: b.Source, Endpoint: b.Endpoint, CursorID: b.Cursor.ID}}
	still, err := s.stillShort(ctx, b, short)
	if err != nil {
		return err
	}
	for _, c := range still {
		f.Short, f.Count = append(f.Short, c), f.Count+int(c.Missing())
		if f.Since.IsZero() || c.CheckedAt.Before(f.Since) {
			f.Since = c.CheckedAt
		}
	}
	if len(f.Short) > 0 {
		s.find(f)
	}
	return nil
}

// stillShort keeps the comparisons of an endpoint that still say that items are missing: no
// later one agrees, and the window was not read again with enough.
func (i *Inspector) stillShort(ctx context.Context, b EndpointCoverage, short []view.CountCheck) (out []view.CountCheck, err error) {
	for _, c := range short {
		if c.Source != b.Source || c.Endpoint != b.Endpoint || c.Question != b.Asks.Question || c.Verdict != view.CountsShort {
			continue
		}
		now, again, err := i.readNow(ctx, b, c)
		if err != nil {
			return nil, err
		}
		if again && now >= c.Enough {
			continue
		}
		later, err := i.from.Counted.CountChecks(ctx, b.dataset(), c.Window, mostShort)
		if err != nil {
			return nil, err
		}
		if isOutdated(c, later) {
			continue
		}
		if c.ReadAgain = again; again {
			c.Read = &now
		}
		out = append(out, c)
	}
	return out, nil
}

// readNow returns how many items the newest readings of a compared window had, and whether they
// are others than those that were compared.
func (i *Inspector) readNow(ctx context.Context, b EndpointCoverage, c view.CountCheck) (now int64, again bool, err error) {
	history, err := i.from.Readings.WindowItems(ctx, b.dataset(), c.Question, c.Window, mostCounts)
	if err != nil {
		return 0, false, err
	}
	now, whole := ingest.NewCounts(history).Whole(c.Window)
	later := slices.ContainsFunc(history, func(w ingest.WindowCount) bool { return w.AsOf.After(c.CheckedAt) })
	return now, whole && (later || now != *c.Read), nil
}

// isOutdated reports whether later comparisons found enough in all of a window.
func isOutdated(c view.CountCheck, all []view.CountCheck) bool {
	var agreed []window.Window
	for _, later := range all {
		if later.Verdict != view.CountsShort && later.Question == c.Question && later.CheckedAt.After(c.CheckedAt) {
			agreed = append(agreed, later.Window)
		}
	}
	return len(window.Subtract(c.Window, agreed)) == 0
}

// isExplained reports whether a thin day is as the upstream counts it, or told as short of that:
// by a comparison of what was read last.
func (s *statusBuilder) isExplained(ctx context.Context, b EndpointCoverage, d view.ThinDay) (bool, error) {
	checks, err := s.from.Counted.CountChecks(ctx, b.dataset(), d.Window, mostShort)
	if err != nil {
		return false, err
	}
	for _, c := range checks {
		if c.Question != b.Asks.Question || d.Window.From.Before(c.Window.From) || d.Window.To.After(c.Window.To) {
			continue
		}
		if _, again, err := s.readNow(ctx, b, c); err != nil || !again {
			return err == nil, err
		}
	}
	return false, nil
}
