package term

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Tables fit the terminal. Where a table is wider, its widest columns are made
// narrower and their cells go on below themselves; where that is not enough, the
// columns that do not fit follow below all rows, behind the first column again. Off a terminal rows are whole lines, for grep and the like, unless
// COLUMNS says how wide a line may be.

// columnGap lies between two columns. Words up to longestWord are not broken: an
// instant, a status, half a window.
const (
	columnGap   = 2
	longestWord = 24
)

// columnWidth is how wide a column would like to be, and the least it can be.
type columnWidth struct{ whole, least int }

// lineWidth is how wide a line may be; 0: any.
func (e *Env) lineWidth() int {
	if file, ok := e.Out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
			return width
		}
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	return 0
}

// printTable prints rows below their heads, as one table or in blocks of columns.
func (e *Env) printTable(heads []string, rows [][]any) {
	widths := tableWidths(heads, rows)
	limit := e.lineWidth()
	for i, block := range columnBlocks(widths, limit) {
		if i > 0 {
			fmt.Fprintln(e.Out)
		}
		w := NewTable(e)
		if slices.ContainsFunc(heads, func(head string) bool { return head != "" }) {
			w.AppendHeader(HeadRow(pickColumns(heads, block)))
		}
		for _, row := range rows {
			w.AppendRow(e.colourWords(CleanRow(pickColumns(row, block))))
		}
		fitColumns(w, pickColumns(widths, block), limit)
		fmt.Fprintln(e.Out, w.Render())
	}
}

// columnBlocks says which columns stand side by side. With room for all of them that
// is one block.
func columnBlocks(widths []columnWidth, limit int) (blocks [][]int) {
	narrow := func(i int) int { return widths[i].least + columnGap }
	room := limit + columnGap
	var block []int
	used := 0
	for i := range widths {
		if limit > 0 && used+narrow(i) > room && len(block) > 1 {
			blocks, block, used = append(blocks, block), []int{0}, narrow(0)
		}
		block, used = append(block, i), used+narrow(i)
	}
	return append(blocks, block)
}

func pickColumns[T any](all []T, which []int) []T {
	out := make([]T, 0, len(which))
	for _, i := range which {
		if i < len(all) {
			out = append(out, all[i])
		}
	}
	return out
}

// tableWidths is how wide each column would like to be, and the least it can be.
func tableWidths(heads []string, rows [][]any) []columnWidth {
	widths := make([]columnWidth, len(heads))
	widen := func(i int, cell string) {
		for line := range strings.SplitSeq(cell, "\n") {
			widths[i].whole = max(widths[i].whole, text.StringWidthWithoutEscSequences(line))
			widths[i].least = max(widths[i].least, min(widestWord(line), longestWord))
		}
	}
	for i, head := range heads {
		widen(i, head)
	}
	for _, row := range rows {
		for i, cell := range CleanRow(row) {
			if i < len(widths) {
				widen(i, fmt.Sprint(cell))
			}
		}
	}
	return widths
}

// widestWord is the width of the longest part of a line that is not broken.
func widestWord(line string) (widest int) {
	for line != "" {
		end := strings.IndexAny(line, breaks)
		if end < 0 {
			end = len(line) - 1
		}
		widest = max(widest, text.StringWidthWithoutEscSequences(strings.TrimRight(line[:end+1], " ")))
		line = line[end+1:]
	}
	return widest
}

// breaks are where a cell may go on in its next line.
const breaks = " ,/"

// fitColumns narrows the widest columns until the table fits the line.
func fitColumns(w table.Writer, widths []columnWidth, limit int) {
	if limit == 0 {
		return
	}
	most := widestColumn(widths, limit-columnGap*(len(widths)-1))
	var configs []table.ColumnConfig
	for i, width := range widths {
		if at := max(most, width.least); width.whole > at {
			configs = append(configs, table.ColumnConfig{Number: i + 1, WidthMax: at, WidthMaxEnforcer: wrapCell})
		}
	}
	w.SetColumnConfigs(configs)
}

// widestColumn is the largest width such that all columns together fit; narrower
// columns keep their own, and none becomes narrower than it can.
func widestColumn(widths []columnWidth, room int) (most int) {
	for _, width := range widths {
		most = max(most, width.whole)
	}
	for ; most > 1; most-- {
		sum := 0
		for _, width := range widths {
			sum += min(width.whole, max(most, width.least))
		}
		if sum <= room {
			break
		}
	}
	return most
}

// wrapCell breaks a cell at blanks and behind commas and slashes, and anywhere where
// there is none.
func wrapCell(cell string, width int) string {
	var out []string
	for line := range strings.SplitSeq(cell, "\n") {
		for runes := []rune(line); ; {
			if text.StringWidthWithoutEscSequences(string(runes)) <= width || len(runes) <= width {
				out = append(out, string(runes))
				break
			}
			at := breakAt(runes, width)
			out = append(out, strings.TrimRight(string(runes[:at]), " "))
			runes = runes[at:]
		}
	}
	return strings.Join(out, "\n")
}

func breakAt(runes []rune, width int) int {
	if runes[width] == ' ' {
		return width + 1 // the blank itself needs no room
	}
	for at := width; at > 1; at-- {
		if strings.ContainsRune(breaks, runes[at-1]) {
			return at
		}
	}
	return width
}

// HasColours reports whether words may be coloured: on a terminal, unless NO_COLOR
// or TERM says otherwise.
func HasColours(out io.Writer) bool {
	return IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// wordColours are the colours of words that say how something stands. Colour only
// repeats what the word says.
var wordColours = map[string]text.Color{
	"SUCCEEDED": text.FgGreen, "COMPLETED": text.FgGreen, "RESOLVED": text.FgGreen, "PUBLISHED": text.FgGreen, "DELIVERED": text.FgGreen, "OK": text.FgGreen, "ok": text.FgGreen,
	"FAILED": text.FgRed, "DEAD": text.FgRed, "OPEN": text.FgYellow, "PARTIAL": text.FgYellow, "CANCELLED": text.FgYellow, "DEFERRED": text.FgYellow, "PAUSED": text.FgYellow,
}

func (e *Env) colourWords(row table.Row) table.Row {
	if !e.Colour {
		return row
	}
	for i, cell := range row {
		if word, ok := cell.(string); ok {
			if colour, known := wordColours[word]; known {
				row[i] = paintWord(word, colour)
			}
		}
	}
	return row
}

// ColouredFindings paints the marks of findings.
func (e *Env) ColouredFindings(report string) string {
	if !e.Colour {
		return report
	}
	return strings.ReplaceAll(report, "\n! ", "\n"+paintWord("!", text.FgRed)+" ")
}

// paintWord writes a word in a colour. The library's own switch looks at the whole
// process; ours at the writer.
func paintWord(word string, colour text.Color) string {
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", int(colour), word)
}

func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
