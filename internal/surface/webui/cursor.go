package webui

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// WholeLists tells how lists were read that are read whole, and accepts a reading.
type WholeLists interface {
	// ListReadings lists the readings of a list that is read whole, the newest first.
	ListReadings(ctx context.Context, id, before int64, limit int) ([]view.WholeReading, error)
	// Accept takes the newest reading, which is SHRUNK, for the list as it is.
	Accept(ctx context.Context, id int64, by ingest.Act) (view.ReadingAccepted, error)
}

// Cursors tells how watermarks stand and moved, and sets one.
type Cursors interface {
	// List lists watermarks, of one source if named.
	List(ctx context.Context, source string) ([]view.Cursor, error)
	// Show reads one watermark.
	Show(ctx context.Context, id int64) (view.Cursor, error)
	// ListNewestEvents reads what moved a watermark between two instants, newest first, before an event.
	ListNewestEvents(ctx context.Context, of view.Cursor, from, to time.Time, before int64, limit int) ([]view.CursorEvent, error)
	// Verify holds a watermark against its events.
	Verify(ctx context.Context, id int64) (view.Verdict, error)
	WholeLists
	// Set begins the book of a watermark anew at a value.
	Set(ctx context.Context, id int64, to time.Time, by ingest.Act) (view.CursorSet, error)
}

// listCursors answers how far each source was read.
func (s *site) listCursors(a *ask) (page, error) {
	source, err := a.wantedSource()
	if err != nil {
		return page{}, err
	}
	all, err := s.Work.Cursors.List(a.Context(), source)
	if err != nil {
		return page{}, err
	}
	all = keep(all, func(c view.Cursor) bool { return a.Caller.Sees(c.Source) })
	title := countText(len(all), "watermark")
	if len(all) == 0 {
		title = "No source was read yet"
	}
	return page{Template: "cursors", Title: title, Lead: "how far each endpoint was read without a hole", Body: all}, nil
}

// cursorPage is one watermark: its value over time, and what moved it.
type cursorPage struct {
	Cursor  view.Cursor
	Ranges  []choice
	Events  part[[]view.CursorEvent]
	Older   string // pages of events
	Newest  string
	Late    int // of those that are shown, as Manual
	Manual  int // moves by a person
	Chart   template.HTML
	Verdict *part[view.Verdict]
	Check   string // address that holds it against its events
	Admin   bool
	// Readings are the last ones of a list that is read whole; other sources have none.
	Readings part[[]view.WholeReading]
	Accept   string // address that accepts the newest of them, where it waits for that
}

const (
	eventsOfCursor   = 200
	readingsOfCursor = 20
)

var cursorRanges = map[string]time.Duration{"24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "": 30 * 24 * time.Hour, "30d": 30 * 24 * time.Hour, "1y": 365 * 24 * time.Hour}

func (s *site) cursorSeen(a *ask) (view.Cursor, error) {
	id, err := a.number()
	if err != nil {
		return view.Cursor{}, err
	}
	c, err := s.Work.Cursors.Show(a.Context(), id)
	if err == nil && !a.Caller.Sees(c.Source) {
		return view.Cursor{}, unseen("cursor", id)
	}
	return c, err
}

// showCursor answers how a watermark came to where it is.
func (s *site) showCursor(a *ask) (page, error) {
	c, err := s.cursorSeen(a)
	if err != nil {
		return page{}, err
	}
	length, known := cursorRanges[a.FormValue("since")]
	if !known {
		return page{}, fmt.Errorf("%w: since is 24h, 7d, 30d or 1y", fault.ErrInvalid)
	}
	before, err := a.numberOf("before")
	if err != nil {
		return page{}, err
	}
	p := cursorPage{Cursor: c, Ranges: a.choices("since", "24h", "7d", "30d", "1y")[1:], Check: a.with("check", "1"), Admin: a.Caller.May(access.Admin)}
	p.Ranges[2].Current = p.Ranges[2].Current || a.FormValue("since") == ""
	p.Events = load(a, "what moved the watermark", func(ctx context.Context) ([]view.CursorEvent, error) {
		return s.Work.Cursors.ListNewestEvents(ctx, c, a.Now.Add(-length), a.Now.Add(time.Second), before, eventsOfCursor+1)
	})
	if len(p.Events.Value) > eventsOfCursor {
		p.Events.Value = p.Events.Value[:eventsOfCursor]
		p.Older = a.with("before", strconv.FormatInt(p.Events.Value[eventsOfCursor-1].ID, 10))
	}
	if before != 0 {
		p.Newest = a.with("before", "")
	}
	for _, e := range p.Events.Value {
		if p.Late += e.Late; e.Actor != "" {
			p.Manual++
		}
	}
	p.Readings = load(a, "the readings of the list", func(ctx context.Context) ([]view.WholeReading, error) {
		return s.Work.Cursors.ListReadings(ctx, c.ID, 0, readingsOfCursor)
	})
	if newest, waits := view.ReadingThatWaits(p.Readings.Value); waits && newest.CursorID == c.ID && a.Caller.May(access.Operator) {
		p.Accept = fmt.Sprintf("/cursors/%d/accept", c.ID)
	}
	p.Chart = drawWatermark(c, p.Events.Value)
	if a.FormValue("check") != "" {
		verdict := load(a, "the events of the watermark", func(ctx context.Context) (view.Verdict, error) { return s.Work.Cursors.Verify(ctx, c.ID) })
		p.Verdict = &verdict
	}
	return page{Template: "cursor", Title: cursorTitle(c, a.Now), Lead: fmt.Sprintf("%s/%s %s by %s", c.Source, c.Endpoint, c.Operation, c.Key), Crumbs: cursorWay(c, ""), Body: p}, nil
}

func cursorTitle(c view.Cursor, now time.Time) string {
	switch {
	case c.Value == "":
		return fmt.Sprintf("Cursor %d has no value yet", c.ID)
	case c.Line() == ingest.CursorID || c.Instant.IsZero():
		return fmt.Sprintf("Cursor %d is at %s", c.ID, c.Value)
	}
	return fmt.Sprintf("Cursor %d is at %s, %s behind now", c.ID, wording.DateOrSecond(c.Instant), spanText(now.Sub(c.Instant)))
}

func cursorWay(c view.Cursor, then string) []crumb {
	way := []crumb{{"Cursors", "/cursors"}}
	if then == "" {
		return append(way, crumb{Name: fmt.Sprintf("cursor %d", c.ID)})
	}
	return append(way, crumb{fmt.Sprintf("cursor %d", c.ID), fmt.Sprintf("/cursors/%d", c.ID)})
}

// Sizes of the picture of a watermark.
const (
	markWidth  = 1200
	markHeight = 160
)

// drawWatermark draws the value of a watermark over time as steps; moves by a person have a
// mark of their own.
func drawWatermark(c view.Cursor, events []view.CursorEvent) template.HTML {
	type point struct {
		at, value time.Time
		manual    bool
	}
	var points []point
	for _, e := range slices.Backward(events) { // the newest come first
		value, err := c.Line().Parse(e.New)
		if e.New != "" && err == nil && (e.Moved || len(points) == 0) {
			points = append(points, point{e.At, value, e.Actor != ""})
		}
	}
	if len(points) < 2 {
		return ""
	}
	from, to, low, high := points[0].at, points[len(points)-1].at, points[0].value, points[0].value
	for _, p := range points {
		if p.value.Before(low) {
			low = p.value
		}
		if p.value.After(high) {
			high = p.value
		}
	}
	x := func(t time.Time) float64 { return 4 + float64(t.Sub(from))/float64(max(to.Sub(from), 1))*(markWidth-8) }
	y := func(t time.Time) float64 {
		return markHeight - 4 - float64(t.Sub(low))/float64(max(high.Sub(low), 1))*(markHeight-8)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="mark" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="the watermark over time; the table below has the same"><path class="line l-done" d="M%.1f %.1f`, markWidth, markHeight, x(from), y(points[0].value))
	for _, p := range points[1:] {
		fmt.Fprintf(&b, ` H%.1f V%.1f`, x(p.at), y(p.value))
	}
	b.WriteString(`"/>`)
	for _, p := range points {
		if p.manual {
			fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="6" height="6" class="f-fail"><title>set by a person</title></rect>`, x(p.at)-3, y(p.value)-3)
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// setCursor sets a watermark by hand. It is the first thing a hole is blamed on, so the
// preview says what is read again and what is left behind.
func (s *site) setCursor(a *ask) (page, error) {
	c, err := s.cursorSeen(a)
	if err != nil {
		return page{}, err
	}
	value, err := s.cursorValue(a, c)
	if err != nil {
		return page{}, err
	}
	return perform(a, act[view.CursorSet]{
		do: func(ctx context.Context, by ingest.Act) (view.CursorSet, error) {
			return s.Work.Cursors.Set(ctx, c.ID, value, by)
		},
		facts: func(d view.CursorSet) []fact {
			return []fact{{"is at", wording.OrDash(d.Before)}, {"will be at", wording.OrDash(d.After)}, {"read again", windowsText(d.Reopened)}, {"left behind, owed below the value", windowsText(d.Left)}}
		},
		changes:  func(d view.CursorSet) bool { return d.Changed },
		means:    "Records that are stored stay. What is left behind is read by no harvest: it shows as a gap until a backfill reads it or a person waives it.",
		question: fmt.Sprintf("Set cursor %d by hand?", c.ID), done: fmt.Sprintf("Cursor %d is set", c.ID),
		command: fmt.Sprintf("patra cursor set %d --to %s", c.ID, a.FormValue("to")), button: "Set the cursor",
		back: crumb{"Back to the cursor", fmt.Sprintf("/cursors/%d", c.ID)}, way: cursorWay(c, "set"),
	})
}

// acceptReading takes a reading of a whole list that shrank for the list as it is.
func (s *site) acceptReading(a *ask) (page, error) {
	c, err := s.cursorSeen(a)
	if err != nil {
		return page{}, err
	}
	return perform(a, act[view.ReadingAccepted]{
		do: func(ctx context.Context, by ingest.Act) (view.ReadingAccepted, error) {
			return s.Work.Cursors.Accept(ctx, c.ID, by)
		},
		facts: func(d view.ReadingAccepted) []fact {
			return []fact{{"reading", fmt.Sprintf("%d, as of %s", d.ID, wording.DateOrSecond(d.AsOf))}, {"ids in it", fmt.Sprint(d.Items)}, {"came again", fmt.Sprintf("%d of %d", d.LastKept, d.Last)},
				{"done by it", windowsText(d.Waived.Waived)}, {"watermark", wording.OrDash(d.Waived.Before) + " → " + wording.OrDash(d.Waived.After)}}
		},
		changes:  func(d view.ReadingAccepted) bool { return d.Changed },
		means:    "What was owed up to this reading counts as done and is drawn as waived. Records that the list lacks stay: it takes further readings until they count as gone.",
		question: "Is this reading the whole list?", done: "The reading is accepted",
		command: fmt.Sprintf("patra coverage accept %s/%s", c.Source, c.Endpoint), button: "Accept the reading",
		back: crumb{"Back to the cursor", fmt.Sprintf("/cursors/%d", c.ID)}, way: cursorWay(c, "accept"),
	})
}

// cursorValue reads a value as the cursor compares it.
func (s *site) cursorValue(a *ask, c view.Cursor) (time.Time, error) {
	if c.Line() == ingest.CursorID {
		value, err := c.Line().Parse(a.FormValue("to"))
		if err != nil || a.FormValue("to") == "" {
			return value, fmt.Errorf("%w: to: a whole number is needed", fault.ErrInvalid)
		}
		return value, nil
	}
	value, given, err := a.instant("to")
	if err == nil && !given {
		err = fmt.Errorf("%w: to: name the new value", fault.ErrInvalid)
	}
	return value, err
}

// windowsShown is how many windows a line names.
const windowsShown = 5

func windowsText(all []window.Window) string {
	if len(all) == 0 {
		return "nothing"
	}
	var out []string
	for _, w := range all[:min(len(all), windowsShown)] {
		out = append(out, wording.WindowText(w))
	}
	if more := len(all) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}
