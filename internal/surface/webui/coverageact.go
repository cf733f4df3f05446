package webui

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// GapActions are what somebody does about a stretch of time. Each but the count is rehearsed
// first.
type GapActions interface {
	// FillRange and WaiveRange act for one part of a list, where it is behind the others; without one for all of it.
	FillRange(ctx context.Context, source, endpoint, partition string, within window.Window, by ingest.Act) (view.Filling, error)
	WaiveRange(ctx context.Context, source, endpoint, partition string, within window.Window, by ingest.Act) (view.Waived, error)
	// CountRange asks the upstream; each day is a request. The audit log has who asked.
	CountRange(ctx context.Context, source, endpoint string, within window.Window, by ingest.Act) ([]view.Reconciled, error)
}

// gapForm is the page of an action on a stretch.
type gapForm[T any] struct {
	acted[T]
	Source, Endpoint string
	Window           window.Window
	Path, Back       string
	Command          string
}

// stretchOf reads which stretch of which source a page is about.
func (a *ask) stretchOf() (source, endpoint string, w window.Window, err error) {
	if source, err = a.source(); err != nil {
		return source, "", w, err
	}
	w, named, err := a.namedWindow()
	if err == nil && !named {
		err = fmt.Errorf("%w: from and to are needed", fault.ErrInvalid)
	}
	return source, a.FormValue("endpoint"), w, err
}

// fillGaps shows what filling a stretch would plan, and plans it.
func (s *site) fillGaps(a *ask) (page, error) {
	source, endpoint, w, err := a.stretchOf()
	if err != nil {
		return page{}, err
	}
	part := a.FormValue("partition")
	done, err := doOrPreview(a, func(ctx context.Context, by ingest.Act) (view.Filling, error) {
		return s.Readers.Gaps.FillRange(ctx, source, endpoint, part, w, by)
	}, func(f view.Filling) any { return f.Planned })
	if err != nil {
		return page{}, err
	}
	if done.Done {
		return page{To: stretchPath(source, endpoint, w) + "&done=fill"}, nil
	}
	body := gapForm[view.Filling]{done, source, endpoint, w, partPath(source, endpoint, "fill", part, w), stretchPath(source, endpoint, w),
		fmt.Sprintf("patra coverage fill %s%s %s --reason …", source, partFlag(part), commandWindow(w))}
	p := page{Template: "fill", Status: done.statusOf(), Crumbs: actionCrumbs(source, endpoint, w, "Fill"), Body: body}
	p.Title = fmt.Sprintf("Fill %s of %s", wording.WindowText(w), orText(part, source))
	p.Lead = "nothing is planned before you press the button"
	return p, nil
}

// waiveRange shows what waiving a stretch would accept, and does it.
func (s *site) waiveRange(a *ask) (page, error) {
	source, endpoint, w, err := a.stretchOf()
	if err != nil {
		return page{}, err
	}
	part := a.FormValue("partition")
	done, err := doOrPreview(a, func(ctx context.Context, by ingest.Act) (view.Waived, error) {
		return s.Readers.Gaps.WaiveRange(ctx, source, endpoint, part, w, by)
	}, func(d view.Waived) any { return []any{d.Waived, d.Before, d.After} })
	if err != nil {
		return page{}, err
	}
	if done.Done {
		return page{To: stretchPath(source, endpoint, w) + "&done=waive"}, nil
	}
	body := gapForm[view.Waived]{done, source, endpoint, w, partPath(source, endpoint, "waive", part, w), stretchPath(source, endpoint, w),
		fmt.Sprintf("patra coverage waive %s%s %s --reason …", source, partFlag(part), commandWindow(w))}
	p := page{Template: "waive", Status: done.statusOf(), Crumbs: actionCrumbs(source, endpoint, w, "Waive"), Body: body}
	p.Title = fmt.Sprintf("Accept that %s of %s is not read", wording.WindowText(w), orText(part, source))
	return p, nil
}

// partFlag is how a command names a part of a list.
func partFlag(part string) string {
	if part == "" {
		return ""
	}
	return " --partition " + part
}

// counted is what the upstream said of a stretch.
type counted struct {
	Days    []view.Reconciled
	Short   int
	Unknown int
	Back    string
	Command string
}

// countRange asks the upstream how many items each day of a stretch has. It changes nothing
// here, but each day is a request there, so it is no GET.
func (s *site) countRange(a *ask) (page, error) {
	source, endpoint, w, err := a.stretchOf()
	if err != nil {
		return page{}, err
	}
	days, err := s.Readers.Gaps.CountRange(a.Context(), source, endpoint, w, a.readBy())
	if err != nil {
		return page{}, err
	}
	body := counted{Days: days, Back: stretchPath(source, endpoint, w), Command: fmt.Sprintf("patra coverage reconcile %s %s", source, commandWindow(w))}
	for _, d := range days {
		switch d.Verdict {
		case view.CountsShort:
			body.Short++
		case view.CountsUnknown:
			body.Unknown++
		}
	}
	p := page{Template: "count", Crumbs: actionCrumbs(source, endpoint, w, "Count"), Body: body, Title: countTitle(source, body)}
	return p, nil
}

func countTitle(source string, c counted) string {
	switch {
	case len(c.Days) == 0:
		return "No day of this range was read to its end, so nothing was counted"
	case c.Short > 0:
		return fmt.Sprintf("%s short of what %s has", countText(c.Short, "day"), source)
	case c.Unknown == len(c.Days):
		return fmt.Sprintf("%s tells no totals", source)
	}
	return fmt.Sprintf("%s has no more than was read", source)
}

func actionCrumbs(source, endpoint string, w window.Window, last string) []crumb {
	return []crumb{{"All sources", "/coverage"}, {source, sourcePath(source, endpoint)}, {wording.WindowText(w), stretchPath(source, endpoint, w)}, {last, ""}}
}
