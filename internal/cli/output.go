package cli

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
	"github.com/patra-ingest/patra/internal/core/window"
)

// columns describes a table: headings, and how a value becomes a row.
type columns[T any] struct {
	heads []string
	row   func(T) []any
}

// newColumns returns a table with these headings and this way to make a row.
func newColumns[T any](heads []string, row func(T) []any) columns[T] {
	return columns[T]{heads, row}
}

// list prints values as a table, or for programs as a list without other pages.
func list[T any](e *env, values []T, c columns[T]) error {
	return listPage(e, view.Whole(values), c)
}

// listPage prints one page of a list. How people go on, a hint has said.
func listPage[T any](e *env, page view.List[T], c columns[T]) error {
	if e.output == "json" {
		return e.json(page)
	}
	rows := make([][]any, 0, len(page.Items))
	for _, v := range page.Items {
		rows = append(rows, c.row(v))
	}
	e.printTable(c.heads, rows)
	return nil
}

// fact is one line of a detail view: its name and its value. It is an array, so that
// lists of facts need no field names.
type fact [2]any

// show prints one value as lines or as JSON.
func show(e *env, value any, facts []fact) error {
	if e.output == "json" {
		return e.json(value)
	}
	rows := make([][]any, 0, len(facts))
	for _, f := range facts {
		rows = append(rows, f[:])
	}
	e.printTable([]string{"", ""}, rows)
	return nil
}

// json prints a value with what nobody sees in it as escapes, which programs read as
// the same characters.
func (e *env) json(value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := e.out.Write(visible.Append(nil, text.Bytes()))
	return err
}

// write prints what is kept as it is stored, byte for byte; on a terminal with what
// would steer it, and what nobody sees, as escapes.
func (e *env) write(text []byte) error {
	if isTerminal(e.out) {
		text = visible.Append(nil, text)
	}
	_, err := e.out.Write(text)
	return err
}

// pipe is where a stream of such texts goes. flush ends it.
func (e *env) pipe() (to io.Writer, flush func() error) {
	if !isTerminal(e.out) {
		return e.out, func() error { return nil }
	}
	w := visible.NewWriter(e.out)
	return w, w.Flush
}

func newTable(*env) table.Writer {
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

func cells(names []string) table.Row {
	row := make(table.Row, len(names))
	for i, name := range names {
		row[i] = strings.ToUpper(name)
	}
	return row
}

func clean(values []any) table.Row {
	row := make(table.Row, len(values))
	for i, v := range values {
		row[i] = v
		switch value := v.(type) {
		case time.Time:
			row[i] = when(value)
		case string:
			row[i] = printable(value)
		}
	}
	return row
}

// when writes an instant for people: UTC, seconds.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// brief writes a window without seconds that are all zero.
func brief(w window.Window) string {
	short := func(t time.Time) string {
		if t.Equal(t.Truncate(24 * time.Hour)) {
			return t.Format("2006-01-02")
		}
		return window.Text(t)
	}
	return "[" + short(w.From) + ", " + short(w.To) + ")"
}
