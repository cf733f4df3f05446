package webui

import (
	"context"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// CoverageReader tells which time was really read, and which was not.
type CoverageReader interface {
	CoverageMap(ctx context.Context, q view.MapQuery) (view.CoverageMap, error)
	SourceMap(ctx context.Context, q view.SourceMapQuery) (view.SourceMap, error)
	Readings(ctx context.Context, source, endpoint string, within window.Window) ([]view.Reading, error)
}

// mapRange is how far back a map goes.
type mapRange struct {
	name, text string
	years      int // 0: 90 days
}

// ranges are what the map of all sources may show.
var ranges = []mapRange{{"20y", "20 years", 20}, {"5y", "5 years", 5}, {"1y", "1 year", 1}, {"90d", "90 days", 0}}

// coverageAll is the map of all sources.
type coverageAll struct {
	Broken  *problem
	Lines   []coverageRow
	Heads   []crumb // years, each with its page; for a shorter range none
	From    time.Time
	To      time.Time
	Choices []choice
	Legend  []legendGroup
	Column  string // what a column of the map is
}

// choice is one of several views, as a link.
type choice struct {
	Text, Path string
	Current    bool
}

// coverageRow is one line of it.
type coverageRow struct {
	view.CoverageLine
	Strip   template.HTML
	Missing string
}

// showCoverage answers which sources have gaps, and roughly where.
func (s *site) showCoverage(a *ask) (page, error) {
	name := a.FormValue("range")
	chosen := slices.IndexFunc(ranges, func(r mapRange) bool { return r.name == name })
	shown := ranges[max(chosen, 0)].name
	found := load(a, "the coverage of all sources", func(ctx context.Context) (view.CoverageMap, error) { return s.maps[shown].Get(ctx, a.Now) })
	m := found.Value
	m.Lines = keep(m.Lines, func(l view.CoverageLine) bool { return a.Caller.Sees(l.Source) })
	if chosen < 0 {
		chosen = cutToAsked(&m, a.Now)
	}
	body := coverageAll{Broken: found.Broken, From: m.Window.From, To: m.Window.To, Legend: legend(), Column: "a day"}
	if m.Unit == view.MapMonths {
		body.Column = "a month"
		for y := m.Window.From.Year(); y < m.Window.To.Year(); y++ {
			body.Heads = append(body.Heads, crumb{Name: strconv.Itoa(y)})
		}
	}
	for i, r := range ranges {
		body.Choices = append(body.Choices, choice{r.text, a.with("range", r.name), i == chosen})
	}
	gaps := 0
	for _, l := range m.Lines {
		row := coverageRow{CoverageLine: l, Missing: amountsText(l, true)}
		row.Strip = drawStrip(l.Cells, "coverage of "+l.Source, yearLinks(l))
		if l.Done() < l.Asked() || l.Error != "" {
			gaps++
		}
		body.Lines = append(body.Lines, row)
	}
	return page{Template: "coverage", Title: coverageTitle(found.Broken, gaps, len(m.Lines)), Lead: "which time was really read, and which was not", Body: body, Live: liveAll}, nil
}

func coverageTitle(broken *problem, gaps, all int) string {
	switch {
	case broken != nil:
		return "Coverage is not known"
	case all == 0:
		return "Coverage: nothing was harvested yet"
	case gaps == 0:
		return "Coverage: no gaps in what was asked for"
	}
	return fmt.Sprintf("Coverage: %d of %s not complete", gaps, countText(all, "source"))
}

// mapQuery asks for the last years by month, one year by day, or the last 90 days.
func mapQuery(now time.Time, years int) view.MapQuery {
	end := time.Date(now.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	switch {
	case years == 0:
		today := now.Truncate(24 * time.Hour)
		return view.MapQuery{Within: window.Window{From: today.AddDate(0, 0, -89), To: today.AddDate(0, 0, 1)}, Unit: view.MapDays}
	case years == 1:
		return view.MapQuery{Within: window.Window{From: end.AddDate(-1, 0, 0), To: end}, Unit: view.MapDays}
	}
	return view.MapQuery{Within: window.Window{From: end.AddDate(-years, 0, 0), To: end}, Unit: view.MapMonths}
}

// cutToAsked leaves years out before which nothing was asked for of any source, where nobody
// chose a range. It returns which of the ranges is left.
func cutToAsked(m *view.CoverageMap, now time.Time) int {
	const months = 12
	for i, r := range slices.Backward(ranges) {
		if r.years < 5 || r.years == 20 {
			continue
		}
		from := time.Date(now.Year()+1-r.years, 1, 1, 0, 0, 0, 0, time.UTC)
		if slices.ContainsFunc(m.Lines, func(l view.CoverageLine) bool {
			return slices.ContainsFunc(l.Cells[:max(0, len(l.Cells)-r.years*months)], func(c view.MapCell) bool { return c.Worst != view.CellNothing && c.Worst != "" })
		}) {
			continue
		}
		m.Window.From = from
		for n, l := range m.Lines {
			m.Lines[n].Cells = l.Cells[max(0, len(l.Cells)-r.years*months):]
		}
		return i
	}
	return 0
}

// sourcePath is the map of one source; of one of its endpoints where that is named.
func sourcePath(source, endpoint string) string {
	u := url.URL{Path: "/coverage/" + source}
	if endpoint != "" {
		u.RawQuery = url.Values{"endpoint": {endpoint}}.Encode()
	}
	return u.String()
}

func yearPath(source, endpoint string, year int) string {
	return below(source, endpoint, strconv.Itoa(year), window.Window{})
}

func dayPath(source, endpoint string, day time.Time) string {
	return below(source, endpoint, day.Format(time.DateOnly), window.Window{})
}

// stretchPath is the page of any stretch of a source.
func stretchPath(source, endpoint string, w window.Window) string {
	return below(source, endpoint, strconv.Itoa(w.From.Year()), w)
}

// actionPath is the page of an action on a stretch.
func actionPath(source, endpoint, action string, w window.Window) string {
	return below(source, endpoint, action, w)
}

// partPath is actionPath for one part of a list; an empty one is all of it.
func partPath(source, endpoint, action, part string, w window.Window) string {
	path := actionPath(source, endpoint, action, w)
	if part != "" {
		path += "&partition=" + url.QueryEscape(part)
	}
	return path
}

func below(source, endpoint, last string, w window.Window) string {
	q := url.Values{}
	if endpoint != "" {
		q.Set("endpoint", endpoint)
	}
	if !w.Empty() {
		q.Set("from", commandInstant(w.From))
		q.Set("to", commandInstant(w.To))
	}
	return (&url.URL{Path: "/coverage/" + source + "/" + last, RawQuery: q.Encode()}).String()
}
