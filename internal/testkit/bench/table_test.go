package bench

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// line is one measured figure.
type line struct {
	what      string
	ours      string
	reference string
	ratio     float64
	reads     string // how to read the ratio
}

// table collects figures for the end of the run.
type table struct{ lines []line }

// add notes a figure and shows it in the benchmark's own line too.
func (t *table) add(b *testing.B, l line) {
	b.ReportMetric(0, "ns/op") // a round has several parts; their mean means nothing
	b.ReportMetric(l.ratio, "ratio")
	t.lines = append(t.lines, l)
}

func (t *table) print(w io.Writer) {
	if len(t.lines) == 0 {
		return
	}
	rows := [][]string{{"what", "ours", "reference", "ratio", "the ratio is"}}
	for _, l := range t.lines {
		rows = append(rows, []string{l.what, l.ours, l.reference, fmt.Sprintf("%.2f", l.ratio), l.reads})
	}
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	fmt.Fprintln(w)
	for n, row := range rows {
		fmt.Fprintln(w, "| "+strings.Join(padded(row, width), " | ")+" |")
		if n == 0 {
			fmt.Fprintln(w, "|"+strings.Join(rules(width), "|")+"|")
		}
	}
	fmt.Fprintln(w)
}

func padded(row []string, width []int) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		out[i] = cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
	}
	return out
}

func rules(width []int) []string {
	out := make([]string, len(width))
	for i, w := range width {
		out[i] = strings.Repeat("-", w+2)
	}
	return out
}
