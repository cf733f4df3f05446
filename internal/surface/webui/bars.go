package webui

import (
	"fmt"
	"html/template"
	"strings"
)

// Sizes of a chart of bars.
const (
	barsWidth  = 600
	barsHeight = 80
)

// drawBars draws what went well and, upon it, what went badly, the oldest first; one of both
// may be nil. The highest bar fills the chart; its number and the newest bar in
// words stand below.
func drawBars(well, badly []int64, tip func(i int) string, label string) template.HTML {
	n := max(len(well), len(badly))
	value := func(of []int64, i int) int64 {
		if i < len(of) {
			return of[i]
		}
		return 0
	}
	var top int64
	for i := range n {
		top = max(top, value(well, i)+value(badly, i))
	}
	if top == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bars" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s; at most %s">`, barsWidth, barsHeight, template.HTMLEscapeString(label), groupDigits(top))
	step := float64(barsWidth) / float64(n)
	for i := range n {
		up := float64(value(well, i)) / float64(top) * barsHeight
		down := float64(value(badly, i)) / float64(top) * barsHeight
		fmt.Fprintf(&b, `<g><title>%s</title><rect x="%.1f" width="%.1f" height="%d" class="f-surface"/>`, template.HTMLEscapeString(tip(i)), float64(i)*step, step, barsHeight)
		if up > 0 {
			fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="f-done"/>`, float64(i)*step, barsHeight-max(up, 1), step-1, max(up, 1))
		}
		if down > 0 {
			fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="f-fail"/>`, float64(i)*step, barsHeight-up-max(down, 1), step-1, max(down, 1))
		}
		b.WriteString("</g>")
	}
	fmt.Fprintf(&b, `</svg><p class="small muted">%s; highest bar: %s</p>`, template.HTMLEscapeString(tip(n-1)), groupDigits(top))
	return template.HTML(b.String())
}
