package term

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Lister makes the commands that list rows by their numbers, newest first.
type Lister[T any] struct {
	Noun     string   // of the rows, for hints: tasks
	Statuses []string // what --status may say; none: rows have no source and no status
	Columns  Columns[T]
	ID       func(T) int64
	Read     func(context.Context, *daemon.App, view.Filter) ([]T, error)
	Check    func() error // of flags that the command adds, if it does
}

// Command completes a command that has its name and its texts. The filter is for
// commands that add flags to it.
func (l Lister[T]) Command(e *Env, c *cobra.Command) (*cobra.Command, *Filter) {
	f := &Filter{Statuses: l.Statuses}
	f.flags(c)
	c.Args = cobra.NoArgs
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := f.check(cmd); err != nil {
			return err
		}
		if l.Check != nil {
			if err := l.Check(); err != nil {
				return err
			}
		}
		return e.ReadSource(cmd.Context(), f.Source, func(app *daemon.App) error {
			rows, err := l.Read(cmd.Context(), app, f.ahead())
			if err != nil {
				return err
			}
			return PrintPage(e, cutPage(e, l.Noun, rows, f.Limit, l.ID), l.Columns)
		})
	}
	return c, f
}

// AfterFlags are the flags of lists that go on behind their last row.
type AfterFlags struct {
	After int64
	Limit int
}

// Flags adds --after and --limit, and says what they count.
func (p *AfterFlags) Flags(c *cobra.Command, after, limit string) {
	c.Flags().Int64Var(&p.After, "after", 0, after)
	LimitFlag(c, &p.Limit, limit)
}

// Check refuses what could only give an empty list.
func (p *AfterFlags) Check() error {
	if p.After < 0 {
		return Usagef("--after %d: expected an id, as the list prints it", p.After)
	}
	return CheckLimit(p.Limit)
}

// LimitFlag adds --limit.
func LimitFlag(c *cobra.Command, limit *int, about string) {
	c.Flags().IntVar(limit, "limit", PageSize, about)
}

// CheckLimit refuses a page of no rows and one that does not fit into memory.
func CheckLimit(limit int) error {
	if limit < 1 || limit > PageSizeMax {
		return Usagef("--limit %d: expected 1 to %d", limit, PageSizeMax)
	}
	return nil
}

// NewShow completes a command that shows one row, which its id names: it has its
// texts, and show prints the row.
func NewShow(e *Env, noun string, c *cobra.Command, show func(context.Context, *daemon.App, int64) error) *cobra.Command {
	c.Use, c.Args = "show ID", cobra.ExactArgs(1)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := ParseID(noun, args[0])
		if err != nil {
			return err
		}
		return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return show(cmd.Context(), app, id) })
	}
	return c
}
