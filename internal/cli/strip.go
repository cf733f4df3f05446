package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

// The signs of a strip differ in shape and not in colour only.
const (
	cellDone    = '█'
	cellPartly  = '▒'
	cellFailed  = '✗'
	cellOwed    = '░'
	cellNothing = '·'
)

const stripLegend = "█ done   ▒ partly   ✗ failed, waits for its retry   ░ owed   · not asked for"

const stripWidth = 60

// strip draws a window as one row of cells. What is worst in a cell decides its
// sign: a cell is done only if every instant of it is, so no hole is too small
// to be seen.
func strip(within window.Window, segs []coverage.Segment, width int) string {
	var out strings.Builder
	for _, cell := range cellsOf(within, width) {
		out.WriteRune(sign(cell, segs))
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

func sign(cell window.Window, segs []coverage.Segment) rune {
	m := measure(cell, segs)
	switch {
	case m.failed > 0:
		return cellFailed
	case m.done == m.total:
		return cellDone
	case m.done > 0:
		return cellPartly
	case m.owed > 0:
		return cellOwed
	}
	return cellNothing
}

// measured is how much of a window is in which state, in microseconds: a
// duration would end at 292 years.
type measured struct{ total, done, failed, owed int64 }

func measure(within window.Window, segs []coverage.Segment) (m measured) {
	m.total = micros(within)
	for _, s := range segs {
		part := micros(s.Window.Intersect(within))
		switch {
		case s.Done():
			m.done += part
		case s.Fails > 0:
			m.failed += part
		case !s.Want.IsZero():
			m.owed += part
		}
	}
	return m
}

func micros(w window.Window) int64 { return w.To.UnixMicro() - w.From.UnixMicro() }

// String gives shares; whatever is not complete never reads 100 %.
func (m measured) String() string {
	if m.total <= 0 {
		return "-"
	}
	share := func(n int64) string {
		tenths := int64(float64(n) / float64(m.total) * 1000)
		if n < m.total {
			tenths = min(tenths, 999)
		}
		return fmt.Sprintf("%d.%d %%", tenths/10, tenths%10)
	}
	text := share(m.done) + " done"
	for _, part := range []struct {
		n    int64
		name string
	}{{m.failed, "failed"}, {m.owed, "owed"}, {m.total - m.done - m.failed - m.owed, "not asked for"}} {
		if part.n > 0 {
			text += ", " + share(part.n) + " " + part.name
		}
	}
	return text
}
