package term

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/visible"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Columns describes a table: headings, and how a value becomes a row.
type Columns[T any] struct {
	heads []string
	row   func(T) []any
}

// NewColumns returns a table with these headings and this way to make a row.
func NewColumns[T any](heads []string, row func(T) []any) Columns[T] {
	return Columns[T]{heads, row}
}

// PrintList prints values as a table, or for programs as a list without other pages.
func PrintList[T any](e *Env, values []T, c Columns[T]) error {
	return PrintPage(e, view.Whole(values), c)
}

// PrintPage prints one page of a list. How people go on, a hint has said.
func PrintPage[T any](e *Env, page view.List[T], c Columns[T]) error {
	if e.Output == "json" {
		return e.JSON(page)
	}
	rows := make([][]any, 0, len(page.Items))
	for _, v := range page.Items {
		rows = append(rows, c.row(v))
	}
	e.printTable(c.heads, rows)
	return nil
}

// Fact is one line of a detail view: its name and its value. It is an array, so that
// lists of facts need no field names.
type Fact [2]any

// PrintFacts prints one value as lines or as JSON.
func PrintFacts(e *Env, value any, facts []Fact) error {
	if e.Output == "json" {
		return e.JSON(value)
	}
	rows := make([][]any, 0, len(facts))
	for _, f := range facts {
		rows = append(rows, f[:])
	}
	e.printTable([]string{"", ""}, rows)
	return nil
}

// JSON prints a value with what nobody sees in it as escapes, which programs read as
// the same characters.
func (e *Env) JSON(value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := e.Out.Write(visible.Append(nil, text.Bytes()))
	return err
}

// WriteStored prints what is kept as it is stored, byte for byte; on a terminal with what
// would steer it, and what nobody sees, as escapes.
func (e *Env) WriteStored(text []byte) error {
	if IsTerminal(e.Out) {
		text = visible.Append(nil, text)
	}
	_, err := e.Out.Write(text)
	return err
}

// OpenPipe is where a stream of such texts goes. flush ends it.
func (e *Env) OpenPipe() (to io.Writer, flush func() error) {
	if !IsTerminal(e.Out) {
		return e.Out, func() error { return nil }
	}
	w := visible.NewWriter(e.Out)
	return w, w.Flush
}

func NewTable(*Env) table.Writer {
	w := table.NewWriter()
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft = ""
	style.Box.PaddingRight = "  "
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	return w
}

func HeadRow(names []string) table.Row {
	row := make(table.Row, len(names))
	for i, name := range names {
		row[i] = strings.ToUpper(name)
	}
	return row
}

func CleanRow(values []any) table.Row {
	row := make(table.Row, len(values))
	for i, v := range values {
		row[i] = v
		switch value := v.(type) {
		case time.Time:
			row[i] = wording.SecondText(value)
		case string:
			row[i] = Printable(value)
		}
	}
	return row
}
