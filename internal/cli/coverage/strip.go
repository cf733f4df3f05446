package coverage

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// stripSigns are the signs of a strip. They differ in shape and not in colour only.
var stripSigns = []struct {
	state view.CellState
	sign  rune
	says  string
}{
	{view.CellDone, '█', "done"}, {view.CellBackfilled, '▓', "backfilled"}, {view.CellWaived, 'w', "waived"},
	{view.CellThin, 't', "done, far fewer items than usual"}, {view.CellRejects, 'q', "done, items in quarantine"}, {view.CellPartly, '▒', "partly"},
	{view.CellFailed, '✗', "failed, waits for its retry"}, {view.CellCapped, 'C', "more than the upstream serves"}, {view.CellOwed, '░', "owed"},
	{view.CellNothing, '·', "not asked for"},
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

// signOf is how a state is drawn.
func signOf(state view.CellState) rune {
	for _, s := range stripSigns {
		if s.state == state {
			return s.sign
		}
	}
	return '?'
}

const stripWidth = 60

// picture is a survey that is drawn.
type picture struct{ inspect.Survey }

// drawStrip draws a window as one row of cells. What is worst in a cell decides its
// sign, so no hole is too small to be seen.
func (p picture) drawStrip(within window.Window, width int) string {
	var out strings.Builder
	for _, cell := range inspect.EqualCells(within, width) {
		out.WriteRune(p.signOfCell(cell))
	}
	return out.String()
}

func (p picture) signOfCell(cell window.Window) rune { return signOf(p.StateOf(cell)) }

// sharesText says how much of a window has which fate; whatever is not complete never
// reads 100 %.
func sharesText(a coverage.Amounts) string {
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
