package term

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
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// ReadStore opens what is stored for a command that only reads, and says what to
// do when there is nothing yet.
func (e *Env) ReadStore(ctx context.Context, read func(*daemon.App) error) error {
	defer LetHeapGrow(readerHeap)()
	app, err := e.OpenToRead(ctx)
	if daemon.IsMissing(err) {
		return fmt.Errorf("%w: `patra harvest SRC` creates it, --db names another one", err)
	}
	if err != nil {
		return err
	}
	defer app.Close()
	return read(app)
}

// ReadSource is ReadStore for a list that may be narrowed to a source; an empty name
// means all. A source that is not known is a slip: an empty list would say that all is
// well with it.
func (e *Env) ReadSource(ctx context.Context, source string, read func(*daemon.App) error) error {
	return e.ReadStore(ctx, func(app *daemon.App) error {
		if source != "" {
			known, err := app.SourceCodes(ctx)
			if err != nil {
				return err
			}
			if !slices.Contains(known, source) {
				return UnknownWord("source", source, known)
			}
		}
		return read(app)
	})
}

// UnknownWord says that a name is not one of a list, and which was meant.
func UnknownWord(noun, name string, known []string) error {
	if near := spelling.Nearest(name, known); near != "" {
		return NotFoundf("%s %q is not known: did you mean %s?", noun, name, near)
	}
	return NotFoundf("%s %q is not known: there are %s", noun, name, wording.Shorten(strings.Join(known, ", "), 200))
}

// ParseID reads an id as lists print it.
func ParseID(noun, text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 {
		return 0, Usagef("%s id %q: expected a whole number from 1, as `patra %s list` prints it", noun, text, noun)
	}
	return id, nil
}

// Filter are the flags that narrow a list.
type Filter struct {
	view.Filter
	Statuses []string
}

const (
	PageSize    = 50
	PageSizeMax = 10_000
)

func (f *Filter) flags(c *cobra.Command) {
	flags := c.Flags()
	flags.Int64Var(&f.Before, "before", 0, "only ids below this one: the next page")
	LimitFlag(c, &f.Limit, "how many to list, newest first")
	if len(f.Statuses) == 0 {
		return
	}
	flags.StringVar(&f.Source, "source", "", "only of this source")
	flags.StringVar(&f.Status, "status", "", "only with this status: "+strings.Join(f.Statuses, ", "))
}

func (f *Filter) IDFlag(c *cobra.Command, into *int64, name string) {
	c.Flags().Int64Var(into, name, 0, "only of this "+name)
}

// check refuses what could only give an empty list.
func (f *Filter) check(c *cobra.Command) error {
	for _, name := range []string{"plan", "task", "run", "before"} {
		flag := c.Flags().Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		if id, err := strconv.ParseInt(flag.Value.String(), 10, 64); err != nil || id < 1 {
			return Usagef("--%s %s: expected an id, a whole number from 1", name, flag.Value)
		}
	}
	if err := CheckLimit(f.Limit); err != nil {
		return err
	}
	f.Status = strings.ToUpper(f.Status)
	if f.Status != "" && !slices.Contains(f.Statuses, f.Status) {
		return Usagef("--status %s: expected %s", f.Status, strings.Join(f.Statuses, ", "))
	}
	return nil
}

// ahead asks for one row more than is shown: it tells whether there is a next page.
func (f *Filter) ahead() view.Filter {
	ahead := f.Filter
	ahead.Limit++
	return ahead
}

// cutPage cuts rows that were read ahead, newest first, and says how to go on.
func cutPage[T any](e *Env, noun string, rows []T, limit int, id func(T) int64) view.List[T] {
	return pageBy(e, "before", noun, rows, limit, func(v T) string { return strconv.FormatInt(id(v), 10) })
}

// PageAfter cuts rows that were read ahead, for lists that go on behind their last row.
func PageAfter[T any](e *Env, noun string, rows []T, limit int, position func(T) string) view.List[T] {
	return pageBy(e, "after", noun, rows, limit, position)
}

func pageBy[T any](e *Env, flag, noun string, rows []T, limit int, position func(T) string) view.List[T] {
	cut := view.Paged(rows, limit, position)
	switch {
	case len(rows) == 0:
		e.Hint("no %s to show", noun)
	case cut.More:
		e.Hint("there are more: add --%s %s", flag, quoteArgument(*cut.Next))
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

// StatusTexts lists codes for messages.
func StatusTexts[S ~string](codes ...S) []string {
	out := make([]string, len(codes))
	for i, code := range codes {
		out[i] = string(code)
	}
	return out
}

// WindowToMinute writes a window for a table, to the minute. The exact one is in the detail view.
func WindowToMinute(w window.Window) string {
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

// TookText is how long something ran, or has not ended yet.
func TookText(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return "-"
	}
	return to.Sub(from).Round(time.Millisecond).String()
}

// ReadRegistry reads with the database if there is one. Bundled sources need none,
// and looking at them must not create one: app is nil then.
func (e *Env) ReadRegistry(ctx context.Context, read func(*daemon.App) error) error {
	app, err := e.OpenToRead(ctx)
	if daemon.IsMissing(err) {
		return read(nil)
	}
	if err != nil {
		return err
	}
	defer app.Close()
	return read(app)
}
