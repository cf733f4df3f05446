package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/spelling"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// ledger opens what is stored for a command that only reads, and says what to
// do when there is nothing yet.
func (e *env) ledger(ctx context.Context, read func(*daemon.App) error) error {
	app, err := e.look(ctx)
	if daemon.IsMissing(err) {
		return fmt.Errorf("%w: `patra harvest SRC` creates it, --db names another one", err)
	}
	if err != nil {
		return err
	}
	defer app.Close()
	return read(app)
}

// listing is ledger for a list that may be narrowed to a source. A source nobody
// knows is a slip: an empty list would say that all is well with it.
func (e *env) listing(ctx context.Context, f *filter, read func(*daemon.App) error) error {
	return e.ledger(ctx, func(app *daemon.App) error {
		if f.Source != "" {
			known, err := app.SourceCodes(ctx)
			if err != nil {
				return err
			}
			if !slices.Contains(known, f.Source) {
				return unknownWord("source", f.Source, known)
			}
		}
		return read(app)
	})
}

// unknownWord says that a name is not one of a list, and which was meant.
func unknownWord(noun, name string, known []string) error {
	if near := spelling.Nearest(name, known); near != "" {
		return notFound("%s %q is not known: did you mean %s?", noun, name, near)
	}
	return notFound("%s %q is not known: there are %s", noun, name, short(strings.Join(known, ", "), 200))
}

// parseID reads an id as lists print it.
func parseID(noun, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, usagef("%s id %q: expected a whole number from 1, as `patra %s list` prints it", noun, text, noun)
	}
	return id, nil
}

// filter are the flags that narrow a list.
type filter struct {
	view.Filter
	statuses []string
}

const (
	pageSize    = 50
	pageSizeMax = 10_000
)

func (f *filter) flags(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.Source, "source", "", "only of this source")
	flags.StringVar(&f.Status, "status", "", "only with this status: "+strings.Join(f.statuses, ", "))
	flags.Int64Var(&f.Before, "before", 0, "only ids below this one: the next page")
	flags.IntVar(&f.Limit, "limit", pageSize, "how many to list, newest first")
}

func (f *filter) idFlag(c *cobra.Command, into *int64, name string) {
	c.Flags().Int64Var(into, name, 0, "only of this "+name)
}

// check refuses what could only give an empty list.
func (f *filter) check(c *cobra.Command) error {
	for _, name := range []string{"plan", "task", "run", "before"} {
		flag := c.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		if id, err := strconv.ParseInt(flag.Value.String(), 10, 64); err != nil || id < 1 {
			return usagef("--%s %s: expected an id, a whole number from 1", name, flag.Value)
		}
	}
	if f.Limit < 1 || f.Limit > pageSizeMax {
		return usagef("--limit %d: expected 1 to %d", f.Limit, pageSizeMax)
	}
	f.Status = strings.ToUpper(f.Status)
	if f.Status != "" && !slices.Contains(f.statuses, f.Status) {
		return usagef("--status %s: expected %s", f.Status, strings.Join(f.statuses, ", "))
	}
	return nil
}

// ahead asks for one row more than is shown: it tells whether there is a next page.
func (f *filter) ahead() view.Filter {
	ahead := f.Filter
	ahead.Limit++
	return ahead
}

// page cuts rows that were read ahead, newest first, and says how to go on.
func page[T any](e *env, noun string, rows []T, limit int, id func(T) int64) view.List[T] {
	return pageBy(e, "before", noun, rows, limit, func(v T) string { return strconv.FormatInt(id(v), 10) })
}

// pageAfter is page for lists that go on behind their last row.
func pageAfter[T any](e *env, noun string, rows []T, limit int, position func(T) string) view.List[T] {
	return pageBy(e, "after", noun, rows, limit, position)
}

func pageBy[T any](e *env, flag, noun string, rows []T, limit int, position func(T) string) view.List[T] {
	cut := view.Paged(rows, limit, position)
	switch {
	case len(rows) == 0:
		e.hint("no %s to show", noun)
	case cut.More:
		e.hint("there are more: add --%s %s", flag, quoteArgument(*cut.Next))
	}
	return cut
}

// quoteArgument writes a word as a shell reads it back: record ids may hold anything.
func quoteArgument(word string) string {
	if plainArgument.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

var plainArgument = regexp.MustCompile(`^[A-Za-z0-9._/:@%+-]+$`)

// statusTexts lists codes for messages.
func statusTexts[S ~string](codes ...S) []string {
	out := make([]string, len(codes))
	for i, code := range codes {
		out[i] = string(code)
	}
	return out
}

// moment writes an instant for a table: a date where that says all, else seconds.
func moment(t time.Time) string {
	if !t.IsZero() && t.Equal(t.Truncate(24*time.Hour)) {
		return t.UTC().Format(time.DateOnly)
	}
	return when(t)
}

// span writes a window for a table, to the minute. The exact one is in the detail view.
func span(w window.Window) string {
	if w == (window.Window{}) {
		return "-"
	}
	minute := func(t time.Time) string {
		if t.Equal(t.Truncate(24 * time.Hour)) {
			return t.UTC().Format(time.DateOnly)
		}
		return t.UTC().Format("2006-01-02T15:04Z")
	}
	return "[" + minute(w.From) + ", " + minute(w.To) + ")"
}

// short cuts text that is too wide for a table.
func short(text string, width int) string {
	runes := []rune(strings.ReplaceAll(text, "\n", " "))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:width-1]) + "…"
}

// took is how long something ran, or has not ended yet.
func took(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return "-"
	}
	return to.Sub(from).Round(time.Millisecond).String()
}
