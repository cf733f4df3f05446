package webui

import (
	"fmt"
	"html/template"
	"strings"
)

// Pictures are SVG with numbers as attributes and colours as classes: the policy of the
// pages allows no style inside of them. They hold no text of others, so they need no
// escaping; a label is escaped where it is put in.

// gauge draws how much of a whole is reached. Tone is a class of the stylesheet.
func gauge(part, whole float64, tone, label string) template.HTML {
	width := 0.0
	if whole > 0 {
		width = min(100*part/whole, 100)
	}
	return template.HTML(fmt.Sprintf(`<svg class="gauge" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="%s"><rect width="100" height="8" class="f-track"/><rect width="%.1f" height="8" class="f-%s"/></svg>`,
		template.HTMLEscapeString(label), width, template.HTMLEscapeString(tone)))
}

// Sizes of a sparkline.
const (
	sparkWidth  = 132
	sparkHeight = 24
)

// spark draws bars of some values, the oldest first. The highest one fills it.
func spark(values []int64, label string) template.HTML {
	var top int64
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="spark" viewBox="0 0 %d %d" preserveAspectRatio="none" role="img" aria-label="%s">`, sparkWidth, sparkHeight, template.HTMLEscapeString(label))
	step := float64(sparkWidth) / float64(max(len(values), 1))
	for i, v := range values {
		height, tone := 1.0, "none"
		if v > 0 {
			height, tone = max(float64(v)/float64(top)*sparkHeight, 2), "done"
		}
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="f-%s"/>`, float64(i)*step, sparkHeight-height, step-1, height, tone)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}
