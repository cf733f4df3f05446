package webui

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Sizes of the timeline of runs, in the units of its picture.
const (
	ganttWidth = 1200
	ganttName  = 84 // room for the number of a slice
	ganttRow   = 26
	ganttHead  = 24
	ganttBar   = 16
	ganttLeast = 4 // a run that took no time is seen too
)

// gantt draws the runs of slices over time: one row a slice, one bar a run, which leads to it.
type gantt struct {
	b        strings.Builder
	from, to time.Time
}

// drawRuns draws the timeline. Chosen is the slice whose row is marked.
func drawRuns(trees []view.SliceTree, chosen int64, now time.Time, address func(slice, run int64) string) template.HTML {
	var g gantt
	if !g.measure(trees, now) {
		return ""
	}
	height := ganttHead + ganttRow*len(trees) + 4
	fmt.Fprintf(&g.b, `<svg class="gantt" viewBox="0 0 %d %d" width="%d" height="%d" role="group" aria-label="runs of %d slices over time; the table below has the same">`, ganttWidth, height, ganttWidth, height, len(trees))
	g.drawAxis(height)
	for i, t := range trees {
		g.drawSlice(t, ganttHead+i*ganttRow, t.ID == chosen, now, address)
	}
	g.b.WriteString("</svg>")
	return template.HTML(g.b.String())
}

// measure finds the stretch of time to draw; false if nothing ran.
func (g *gantt) measure(trees []view.SliceTree, now time.Time) bool {
	for _, t := range trees {
		if t.Task == nil {
			continue
		}
		for _, r := range t.Task.Runs {
			if r.StartedAt.IsZero() {
				continue
			}
			if g.from.IsZero() || r.StartedAt.Before(g.from) {
				g.from = r.StartedAt
			}
			if end := endOfRun(r, now); end.After(g.to) {
				g.to = end
			}
		}
	}
	if !g.from.IsZero() && g.to.Sub(g.from) < time.Second {
		g.to = g.from.Add(time.Second)
	}
	return !g.from.IsZero()
}

func endOfRun(r view.RunTree, now time.Time) time.Time {
	if r.FinishedAt.IsZero() {
		return now
	}
	return r.FinishedAt
}

func (g *gantt) x(t time.Time) float64 {
	return ganttName + float64(t.Sub(g.from))/float64(g.to.Sub(g.from))*(ganttWidth-ganttName-8)
}

// ganttSteps are the distances between lines of the axis.
var ganttSteps = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour}

func (g *gantt) drawAxis(height int) {
	const most = 8 // lines
	step := ganttSteps[len(ganttSteps)-1]
	for _, s := range ganttSteps {
		if g.to.Sub(g.from)/s <= most {
			step = s
			break
		}
	}
	form := "15:04"
	switch {
	case step < time.Minute:
		form = "15:04:05"
	case g.to.Sub(g.from) > 20*time.Hour:
		form = "01-02 15:04"
	}
	at := g.from.Truncate(step)
	for n := 0; n < 4*most && !at.After(g.to); n++ {
		if !at.Before(g.from) {
			x := g.x(at)
			anchor := "middle"
			if x > ganttWidth-40 {
				anchor = "end"
			}
			fmt.Fprintf(&g.b, `<path d="M%.1f %d V%d" class="line l-line"/><text x="%.1f" y="14" text-anchor="%s">%s</text>`, x, ganttHead, height, x, anchor, at.UTC().Format(form))
		}
		at = at.Add(step)
	}
}

func (g *gantt) drawSlice(t view.SliceTree, y int, chosen bool, now time.Time, address func(slice, run int64) string) {
	if chosen {
		fmt.Fprintf(&g.b, `<rect x="0" y="%d" width="%d" height="%d" class="f-waived-soft"/>`, y, ganttWidth, ganttRow)
	}
	fmt.Fprintf(&g.b, `<text x="4" y="%d">slice %d</text>`, y+17, t.No)
	if t.Task == nil {
		return
	}
	var last float64
	for _, r := range t.Task.Runs {
		if r.StartedAt.IsZero() {
			continue
		}
		x, end := g.x(r.StartedAt), g.x(endOfRun(r, now))
		width := max(end-x, ganttLeast)
		if last > 0 && x-last > ganttLeast {
			fmt.Fprintf(&g.b, `<path d="M%.1f %d H%.1f" class="line l-text" stroke-dasharray="3 3"/>`, last, y+ganttRow/2, x)
		}
		fmt.Fprintf(&g.b, `<a href="%s"><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" class="f-%s"/></a>`,
			template.HTMLEscapeString(address(t.ID, r.ID)), template.HTMLEscapeString(runTip(r, now)), x, y+(ganttRow-ganttBar)/2, width, ganttBar, toneOfRun(r.Status))
		if last = x + width; r.Status == string(ingest.RunFailed) {
			fmt.Fprintf(&g.b, `<text x="%.1f" y="%d" class="t-mark" aria-hidden="true">✗</text>`, last+3, y+17)
			last += 14
		}
	}
}

// runTip tells of a run in a line.
func runTip(r view.RunTree, now time.Time) string {
	text := fmt.Sprintf("run %d, try %d: %s, %s", r.ID, r.Attempt, saidStatuses["run"][r.Status].word, spanText(endOfRun(r, now).Sub(r.StartedAt)))
	if r.ErrorCode != "" {
		text += ", " + r.ErrorCode
	}
	slowed := 0
	for _, b := range r.Batches {
		slowed += b.Throttled
	}
	if slowed > 0 {
		text += fmt.Sprintf(", %d × 429", slowed)
	}
	return text
}

func toneOfRun(status string) string {
	switch ingest.RunStatus(status) {
	case ingest.RunSucceeded:
		return "done"
	case ingest.RunFailed:
		return "fail"
	case ingest.RunPartial:
		return "doubt"
	case ingest.RunRunning, ingest.RunPlanned:
		return "way"
	}
	return "waived"
}
