package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// The signs of a strip differ in shape and not in colour only.
const (
	cellDone       = '█'
	cellBackfilled = '▓'
	cellWaived     = 'w'
	cellThin       = 't'
	cellRejects    = 'q'
	cellPartly     = '▒'
	cellFailed     = '✗'
	cellCapped     = 'C'
	cellOwed       = '░'
	cellNothing    = '·'
)

var stripSigns = []struct {
	sign rune
	says string
}{
	{cellDone, "done"}, {cellBackfilled, "backfilled"}, {cellWaived, "waived"}, {cellThin, "done, far fewer items than usual"}, {cellRejects, "done, items in quarantine"},
	{cellPartly, "partly"}, {cellFailed, "failed, waits for its retry"}, {cellCapped, "more than the upstream serves"}, {cellOwed, "owed"}, {cellNothing, "not asked for"},
}

// stripLegend explains the signs that occur.
func stripLegend(text string) string {
	var parts []string
	for _, s := range stripSigns {
		if strings.ContainsRune(text, s.sign) {
			parts = append(parts, string(s.sign)+" "+s.says)
		}
	}
	return strings.Join(parts, "   ")
}

// isDone reports whether a sign stands for time that needs no reading.
func isDone(sign rune) bool {
	return slices.Contains([]rune{cellDone, cellBackfilled, cellWaived, cellThin, cellRejects}, sign)
}

const stripWidth = 60

// picture is what is known about a stretch of time.
type picture struct {
	stretches []coverage.Stretch
	thin      []coverage.Counted
	rejected  []view.Marked
	capped    []window.Window
}

// strip draws a window as one row of cells. What is worst in a cell decides its
// sign: a cell is done only if every instant of it is, so no hole is too small
// to be seen.
func (p picture) strip(within window.Window, width int) string {
	var out strings.Builder
	for _, cell := range cellsOf(within, width) {
		out.WriteRune(p.sign(cell))
	}
	return out.String()
}

// cellsOf cuts a window into cells that tile it; fewer when it is shorter than
// one microsecond a cell.
func cellsOf(w window.Window, width int) []window.Window {
	from := w.From.UnixMicro()
	length := w.To.UnixMicro() - from
	n := min(int64(width), length)
	var out []window.Window
	for i := range max(n, 0) {
		out = append(out, window.Window{From: time.UnixMicro(from + edge(length, i, n)).UTC(), To: time.UnixMicro(from + edge(length, i+1, n)).UTC()})
	}
	return out
}

// edge is length*i/n without leaving 64 bits.
func edge(length, i, n int64) int64 { return length/n*i + length%n*i/n }

func (p picture) sign(cell window.Window) rune {
	a := coverage.Measure(cell, p.stretches)
	switch total := a.Total(); {
	case a[coverage.GivenUp] > 0 && slices.ContainsFunc(p.capped, cell.Overlaps):
		return cellCapped
	case a[coverage.GivenUp] > 0:
		return cellFailed
	case a.Done() < total && a.Done() > 0:
		return cellPartly
	case a.Done() < total && a[coverage.Owed] > 0:
		return cellOwed
	case a.Done() < total:
		return cellNothing
	case slices.ContainsFunc(p.thin, func(d coverage.Counted) bool { return d.Window.Overlaps(cell) }):
		return cellThin
	case slices.ContainsFunc(p.rejected, func(m view.Marked) bool { return m.Window.Overlaps(cell) }):
		return cellRejects
	case a[coverage.Waiving] > 0:
		return cellWaived
	case a[coverage.Backfilled] > 0:
		return cellBackfilled
	}
	return cellDone
}

// shares says how much of a window has which fate; whatever is not complete never
// reads 100 %.
func shares(a coverage.Amounts) string {
	total := a.Total()
	if total <= 0 {
		return "-"
	}
	share := func(n int64) string {
		tenths := int64(float64(n) / float64(total) * 1000)
		if n < total {
			tenths = min(tenths, 999)
		}
		return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
	}
	text := share(a.Done()) + " done"
	var of []string
	for _, part := range []coverage.Fate{coverage.Backfilled, coverage.Waiving} {
		if a[part] > 0 {
			of = append(of, share(a[part])+" "+fateText(part))
		}
	}
	if len(of) > 0 {
		text += " (" + strings.Join(of, ", ") + ")"
	}
	for _, part := range []coverage.Fate{coverage.GivenUp, coverage.Owed, coverage.NotAsked} {
		if a[part] > 0 {
			text += ", " + share(a[part]) + " " + fateText(part)
		}
	}
	return text
}

func fateText(f coverage.Fate) string {
	if f == coverage.NotAsked {
		return "not asked for"
	}
	return strings.ToLower(f.String())
}
