package coverage

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/cursor"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// addPartitionFlag adds the flag that means one part of a list.
func addPartitionFlag(c *cobra.Command, into *string) {
	c.Flags().StringVar(into, "partition", "", "only this part of a list that is asked for in parts, such as set=cs")
}

// withPartition leaves the endpoints that have a part of that name, and returns its whole name; none is a slip.
func withPartition(ctx context.Context, app *daemon.App, covered []inspect.EndpointCoverage, name string) ([]inspect.EndpointCoverage, string, error) {
	return whereItIs(covered, name, func(b inspect.EndpointCoverage) (string, error) {
		return cursor.FindPartition(ctx, app, b.Source, b.Endpoint, name)
	})
}

// cursorsOf does so with watermarks.
func cursorsOf(ctx context.Context, app *daemon.App, cursors []view.Cursor, name string) ([]view.Cursor, string, error) {
	return whereItIs(cursors, name, func(c view.Cursor) (string, error) {
		return cursor.FindPartition(ctx, app, c.Source, c.Endpoint, name)
	})
}

func whereItIs[T any](all []T, name string, find func(T) (string, error)) (out []T, whole string, err error) {
	if name == "" {
		return all, "", nil
	}
	for _, one := range all {
		found, refused := find(one)
		if refused != nil {
			err = refused
			continue
		}
		out, whole = append(out, one), found
	}
	if len(out) > 0 {
		err = nil
	}
	return out, whole, err
}

// waiveOf waives a range of one part of a list.
func waiveOf(ctx context.Context, e *term.Env, app *daemon.App, of view.Cursor, partition string, within window.Window, a term.Confirming) error {
	partition, err := cursor.FindPartition(ctx, app, of.Source, of.Endpoint, partition)
	if err != nil {
		return err
	}
	do := func(dry bool) (view.Waived, error) {
		by := a.Act()
		by.Rehearsal = dry
		done, err := app.Cursors.WaiveSector(ctx, of.ID, partition, within, by)
		if err == nil && dry && len(done.Waived) == 0 {
			e.Hint("%s is not behind other partitions in %s. What all of them owe is waived without --partition", partition, wording.WindowText(within))
		}
		return done, err
	}
	return term.RehearseAndDo(e, a, do, func(d view.Waived) bool { return len(d.Waived) > 0 }, func(d view.Waived) error {
		return term.PrintFacts(e, d, []term.Fact{
			{"cursor", fmt.Sprintf("%d: %s %s %s by %s", of.ID, of.Source, of.Endpoint, of.Operation, of.Key)},
			{"partition", partition},
			{"asked to waive", wording.WindowText(d.Window)},
			{"waived", term.RangesText(ingest.CursorTime, d.Waived)},
			{"watermark", wording.OrDash(d.Before) + " → " + wording.OrDash(d.After)},
		})
	})
}
