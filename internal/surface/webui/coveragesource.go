package webui

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/surface/recent"
)

// coverageOne is the map of one source: its years by month, one year by day, and a stretch.
type coverageOne struct {
	Source, Endpoint string
	Endpoints        []choice
	Line             view.CoverageLine
	Years            []gridRow
	Year             int
	YearBroken       *problem
	Months           []gridRow
	YearText         string
	Before, After    string // pages of the years beside it
	Troubles         []troubleRow
	Stretch          *stretch
	Done             string // what was just done
	Legend           []legendGroup
	Days             []int
}

// gridRow is a row of cells with a name.
type gridRow struct {
	Name, Path string
	Cells      []gridCell
	Items      *int64
	Missing    int64
	Current    bool
}

// gridCell is a cell that leads somewhere; without a path it is blank.
type gridCell struct {
	Class, Title, Path string
	Current            bool
}

// troubleRow is a stretch that is not as it should be, in words.
type troubleRow struct {
	view.Stretch
	Class, Word string
	Length      string
	Why, Next   string
	Path        string
	Current     bool
}

// stretch is what is known of a day or any other range, and what can be done about it.
type stretch struct {
	Window   window.Window
	Name     string
	Line     view.CoverageLine
	Cells    []gridCell
	First    string
	Last     string
	Readings part[[]view.Reading]
	Words    string
	Holes    bool // something of it is not read
	Fill     string
	Waive    string
	Count    string
	Path     string
	May      bool
	Parts    []missingPart // of the list, that are missing while others have been read
}

// missingPart is one part of a list, with what can be done about it alone.
type missingPart struct{ Name, Fill, Waive string }

// mostParts is how many parts a stretch offers: whoever misses more fills all of them.
const mostParts = 10

// mostYears is how far back the map of a source goes.
const mostYears = 40

// mostSourceMaps is how many maps of single sources viewers share for a moment.
const mostSourceMaps = 32

// newSourceMaps makes what viewers of the map of one source share, by what they look at; now and the
// years before it are filled in when it is read.
func newSourceMaps(from CoverageReader, longest time.Duration) *recent.Many[view.SourceMapQuery, view.SourceMap] {
	return recent.NewMany(mostSourceMaps, longest, func(ctx context.Context, q view.SourceMapQuery, now time.Time) (view.SourceMap, error) {
		q.Now, q.Years = now, yearsBack(now, mostYears)
		return from.SourceMap(ctx, q)
	})
}

// showSourceCoverage answers which days of a year are missing, and what happened there.
func (s *site) showSourceCoverage(a *ask) (page, error) {
	code, err := a.source()
	if err != nil {
		return page{}, err
	}
	year, day, err := readPlace(a)
	if err != nil {
		return page{}, err
	}
	q := view.SourceMapQuery{Source: code, Endpoint: a.FormValue("endpoint"), Year: year}
	body := coverageOne{Source: code, Legend: legend()}
	if w, named, err := a.namedWindow(); err != nil {
		return page{}, err
	} else if named {
		body.Stretch = &stretch{Window: w, Name: wording.WindowText(w)}
	} else if !day.IsZero() {
		body.Stretch = &stretch{Window: window.Window{From: day, To: day.AddDate(0, 0, 1)}, Name: day.Format("Mon 2 Jan 2006")}
	}
	if body.Stretch != nil {
		q.Range = body.Stretch.Window
	}
	found, err := s.sourceMaps.Get(a.Context(), q, a.Now)
	if err != nil {
		return page{}, err
	}
	year = found.Year
	body.Line, body.Endpoints = found.Lines[found.Chosen], offerEndpoints(found)
	body.Endpoint = body.Line.Endpoint
	body.Year, body.Years = year, yearRows(body.Line, year)
	addYear(a, found, &body)
	if body.Stretch != nil {
		s.addStretch(a, found.Range, &body)
		body.Stretch.addParts(&body, found.Days.Troubles)
	}
	body.Done = doneText(a.FormValue("done"))
	crumbs := []crumb{{"All sources", "/coverage"}, {code, sourcePath(code, "")}, {strconv.Itoa(year), yearPath(code, body.Endpoint, year)}}
	if body.Stretch != nil {
		crumbs = append(crumbs, crumb{body.Stretch.Name, ""})
	} else {
		crumbs[2].Path = ""
	}
	p := page{Template: "coveragesource", Crumbs: crumbs, Body: body, Live: liveOf(body.Source), Lead: "done of what was asked for: " + shareText(body.Line.Done(), body.Line.Asked())}
	p.Title = fmt.Sprintf("%s %d: %s", code, year, orText(body.YearText, "never asked for"))
	return p, nil
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// doneText says what an action has done, after its page led here.
func doneText(what string) string {
	return map[string]string{
		"fill":  "It is planned. The cells show it as being read until a worker has read them; `patra serve` does, or the next harvest.",
		"waive": "It is waived: it is no gap any more, and stays visible as waived.",
	}[what]
}

// readPlace reads the year or the day that a path names.
func readPlace(a *ask) (year int, day time.Time, err error) {
	text := a.PathValue("at")
	if text == "" {
		return 0, day, nil
	}
	if y, err := time.Parse("2006", text); err == nil {
		return y.Year(), day, nil
	}
	if day, err = time.Parse(time.DateOnly, text); err == nil {
		return day.Year(), day, nil
	}
	return 0, day, fmt.Errorf("%q is neither a year nor a day, such as 2019 or 2019-09-03: %w", text, fault.ErrNotFound)
}

// namedWindow reads the window that from and to name.
func (a *ask) namedWindow() (w window.Window, named bool, err error) {
	from, hasFrom, err := a.instant("from")
	if err != nil {
		return w, false, err
	}
	to, hasTo, err := a.instant("to")
	if err != nil || !hasFrom && !hasTo {
		return w, false, err
	}
	w = window.Window{From: from, To: to}
	if !hasFrom || !hasTo || w.Empty() {
		return w, false, fmt.Errorf("%w: from and to are both needed, and from lies before to", fault.ErrInvalid)
	}
	return w, true, nil
}

func yearsBack(now time.Time, years int) window.Window { return mapQuery(now, years).Within }

// offerEndpoints names the endpoints that can be looked at.
func offerEndpoints(m view.SourceMap) (out []choice) {
	for i, l := range m.Lines {
		out = append(out, choice{l.Endpoint, sourcePath(l.Source, l.Endpoint), i == m.Chosen})
	}
	return out
}

// yearRows are the years of a source by month, the newest first, from the one before the first
// that was ever asked for on: earlier ones are blank.
func yearRows(l view.CoverageLine, current int) (out []gridRow) {
	first := len(l.Cells)
	for i, c := range l.Cells {
		if c.Worst != "" && c.Worst != view.CellNothing || c.Window.From.Year() == current {
			first = max(0, i-i%12-12)
			break
		}
	}
	for at := first; at+12 <= len(l.Cells); at += 12 {
		year := l.Cells[at].Window.From.Year()
		row := gridRow{Name: strconv.Itoa(year), Path: yearPath(l.Source, l.Endpoint, year), Current: year == current}
		for _, c := range l.Cells[at : at+12] {
			row.Cells = append(row.Cells, gridCell{Class: lookOf(c.State()).class, Title: cellTitle(c.Window.From.Format("January 2006"), c), Path: row.Path})
		}
		out = append(out, row)
	}
	slices.Reverse(out)
	return out
}

// addYear adds the days of the year, and what is not as it should be in it.
func addYear(a *ask, m view.SourceMap, body *coverageOne) {
	found := load(a, fmt.Sprintf("the year %d", m.Year), func(context.Context) (view.CoverageLine, error) { return m.Days, m.DaysError })
	body.YearBroken = found.Broken
	body.Before, body.After = yearPath(body.Source, body.Endpoint, body.Year-1), yearPath(body.Source, body.Endpoint, body.Year+1)
	for d := 1; d <= 31; d++ {
		body.Days = append(body.Days, d)
	}
	if found.Broken != nil {
		return
	}
	body.YearText, body.Months = amountsText(m.Days, false), monthRows(m.Days, body.Stretch)
	for _, t := range m.Days.Troubles {
		body.Troubles = append(body.Troubles, newTroubleRow(m.Days, t, body.Stretch))
	}
}

func monthRows(l view.CoverageLine, chosen *stretch) (out []gridRow) {
	for _, c := range l.Cells {
		day := c.Window.From
		if day.Day() == 1 {
			out = append(out, gridRow{Name: day.Format("Jan")})
		}
		row := &out[len(out)-1]
		cell := gridCell{Class: lookOf(c.State()).class, Title: cellTitle(day.Format("Mon 2 Jan 2006"), c), Path: dayPath(l.Source, l.Endpoint, day)}
		cell.Current = chosen != nil && chosen.Window.Overlaps(c.Window)
		if c.Worst == "" {
			cell.Path = ""
		}
		row.Cells = append(row.Cells, cell)
		row.Missing += c.Missing()
		if c.Items != nil {
			if row.Items == nil {
				row.Items = new(int64)
			}
			*row.Items += *c.Items
		}
	}
	return out
}

func newTroubleRow(l view.CoverageLine, t view.Stretch, chosen *stretch) troubleRow {
	look := lookOf(t.State)
	r := troubleRow{Stretch: t, Class: look.class, Word: look.word, Length: spanText(t.Window.Duration()), Path: stretchPath(l.Source, l.Endpoint, t.Window)}
	r.Current = chosen != nil && chosen.Window.Overlaps(t.Window)
	if t.Gap != nil {
		r.Why, r.Next = wording.GapReason(*t.Gap), wording.GapPlanned(*t.Gap)
	} else {
		r.Why = look.says
	}
	if r.Next == "" {
		r.Next = nextOfState(t.State)
	}
	return r
}

// nextOfState says what becomes of a stretch if nobody does anything.
func nextOfState(s view.CellState) string {
	switch s {
	case view.CellThin, view.CellShort:
		return "let the upstream count it"
	case view.CellWaived:
		return "stays visible"
	case view.CellRejects:
		return "the items wait in quarantine"
	case view.CellCapped:
		return "no retry reads it: narrow the question, or waive it"
	case view.CellLeft:
		return "no harvest reads it: fill it, or waive it"
	}
	return ""
}

// addStretch adds what is known of a stretch: its hours or days, its slices, and the actions.
func (s *site) addStretch(a *ask, line view.CoverageLine, body *coverageOne) {
	t := body.Stretch
	t.Line = line
	t.Words = amountsText(t.Line, false)
	t.Holes = t.Line.Done() < t.Line.Asked() || t.Line.Amounts[view.CellNothing] > 0
	const mostDrawn = 62
	for _, c := range t.Line.Cells[:min(len(t.Line.Cells), mostDrawn)] {
		t.Cells = append(t.Cells, gridCell{Class: lookOf(c.State()).class, Title: cellTitle(wording.WindowText(c.Window), c)})
	}
	t.First, t.Last = commandInstant(t.Window.From), commandInstant(t.Window.To)
	t.Readings = load(a, "the slices of this range", func(ctx context.Context) ([]view.Reading, error) {
		return s.Readers.Coverage.Readings(ctx, body.Source, body.Endpoint, t.Window)
	})
	t.May = a.Caller.May(access.Operator)
	t.Path = stretchPath(body.Source, body.Endpoint, t.Window)
	t.Fill, t.Waive, t.Count = actionPath(body.Source, body.Endpoint, "fill", t.Window), actionPath(body.Source, body.Endpoint, "waive", t.Window), actionPath(body.Source, body.Endpoint, "count", t.Window)
}

// addParts offers the parts of a list that are missing in a stretch where others have been read.
func (t *stretch) addParts(body *coverageOne, troubles []view.Stretch) {
	seen := map[string]bool{}
	for _, one := range troubles {
		if one.Gap == nil || !one.Window.Overlaps(t.Window) {
			continue
		}
		for _, name := range one.Gap.Partitions {
			if !seen[name] && len(t.Parts) < mostParts {
				t.Parts = append(t.Parts, missingPart{name, partPath(body.Source, body.Endpoint, "fill", name, t.Window), partPath(body.Source, body.Endpoint, "waive", name, t.Window)})
			}
			seen[name] = true
		}
	}
}
