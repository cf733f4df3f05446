package webui

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Sizes of a strip, in units of its own picture.
const (
	stripCell   = 4
	stripHeight = 20
)

// stripLink is a part of a strip that leads somewhere.
type stripLink struct {
	from, to int // cells
	path     string
	title    string
}

// drawStrip draws the cells of a line: what most of each is, and over it a mark of full height
// for what is worst, so that one failed day in twenty years is seen. Equal neighbours are one
// rectangle.
func drawStrip(cells []view.MapCell, label string, links []stripLink) template.HTML {
	var b strings.Builder
	width := len(cells) * stripCell
	role := "img"
	if len(links) > 0 {
		role = "group" // a picture has no parts that can be reached
	}
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d %d" preserveAspectRatio="none" role="%s" aria-label="%s">`, max(width, 1), stripHeight, role, template.HTMLEscapeString(label))
	eachRun(cells, func(c view.MapCell) view.CellState { return c.Most }, func(from, to int, s view.CellState) {
		if s == view.CellNothing {
			fmt.Fprintf(&b, `<path d="M%d 10H%d" class="dots"/>`, from*stripCell, to*stripCell)
		} else if fill := lookOf(s).fill; fill != "" {
			fmt.Fprintf(&b, `<rect x="%d" width="%d" height="%d" %s/>`, from*stripCell, (to-from)*stripCell, stripHeight, fill)
		}
	})
	eachRun(cells, markOf, func(from, to int, s view.CellState) {
		switch x, w := from*stripCell, (to-from)*stripCell; s {
		case "":
		case view.CellThin, view.CellShort:
			fmt.Fprintf(&b, `<rect x="%d" y="12" width="%d" height="8" class="f-doubt mark"/>`, x, w)
		default:
			fmt.Fprintf(&b, `<rect x="%d" width="%d" height="%d" %s/>`, x, w, stripHeight, strings.Replace(lookOf(s).fill, `class="`, `class="mark `, 1))
		}
	})
	for _, l := range links {
		fmt.Fprintf(&b, `<a href="%s"><title>%s</title><rect class="hit" x="%d" width="%d" height="%d"/></a>`,
			template.HTMLEscapeString(l.path), template.HTMLEscapeString(l.title), l.from*stripCell, (l.to-l.from)*stripCell, stripHeight)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// markOf returns what is marked over a cell: what is worse than most of it and asks for a look.
func markOf(c view.MapCell) view.CellState {
	if c.Worst == c.Most || c.Worst.Rank() >= view.CellNothing.Rank() {
		return ""
	}
	return c.Worst
}

func eachRun(cells []view.MapCell, of func(view.MapCell) view.CellState, do func(from, to int, s view.CellState)) {
	for from := 0; from < len(cells); {
		to := from + 1
		for to < len(cells) && of(cells[to]) == of(cells[from]) {
			to++
		}
		do(from, to, of(cells[from]))
		from = to
	}
}

// yearLinks leads from the part of each year to its page.
func yearLinks(line view.CoverageLine) (out []stripLink) {
	for from := 0; from < len(line.Cells); {
		year, to := line.Cells[from].Window.From.Year(), from
		for to < len(line.Cells) && line.Cells[to].Window.From.Year() == year {
			to++
		}
		out = append(out, stripLink{from, to, yearPath(line.Source, line.Endpoint, year), fmt.Sprintf("%s %d: %s", line.Source, year, wordsOf(line.Cells[from:to]))})
		from = to
	}
	return out
}

// wordsOf says what occurs in cells, the worst first.
func wordsOf(cells []view.MapCell) string {
	var words []string
	for _, s := range append([]view.CellState{view.CellCapped, view.CellFailed, view.CellLeft, view.CellShort, view.CellThin, view.CellOwed, view.CellReading, view.CellRejects, view.CellWaived, view.CellBackfilled, view.CellDone}, view.CellNothing) {
		for _, c := range cells {
			if c.Worst == s || c.Most == s {
				words = append(words, lookOf(s).word)
				break
			}
		}
	}
	return strings.Join(words, ", ")
}

// cellTitle is the tip of a cell.
func cellTitle(name string, c view.MapCell) string {
	text := name + ": " + lookOf(c.State()).word
	if c.Worst != c.Most && c.Most != "" {
		text = name + ": " + lookOf(c.Worst).word + ", most of it " + lookOf(c.Most).word
	}
	if c.Items != nil {
		text += "\n" + groupDigits(*c.Items) + " items"
		if c.Told != nil {
			text += ", the upstream told of " + groupDigits(*c.Told)
		}
	}
	return text
}

// commandWindow writes a window as flags of commands.
func commandWindow(w window.Window) string {
	return fmt.Sprintf("--from %s --to %s", commandInstant(w.From), commandInstant(w.To))
}
