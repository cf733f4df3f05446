package source

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Version is one version of a source.
type Version struct {
	State       string    `json:"state"`
	From        time.Time `json:"from"`
	To          time.Time `json:"to,omitzero"`
	AppliedAt   time.Time `json:"appliedAt,omitzero"`
	Actor       string    `json:"actor,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	Rows        int       `json:"rowsChanged"`
	Tables      []string  `json:"tables"`
	Paths       []string  `json:"paths"`
}

// States of a version.
const (
	VersionInForce    = "in force"
	VersionEnded      = "ended"
	VersionScheduled  = "scheduled"
	VersionSuperseded = "superseded" // replaced before it began
)

func newSourceHistory(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "history SRC",
		Short: "List the versions of an applied source",
		Long: `List the versions of an applied source, newest first: when each was in force, who
applied it and why, and how many values it changed. Versions that are scheduled
are listed too. -o json names the values that changed.`,
		Example: `  patra source history crossref
  patra source history crossref -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ReadRegistry(cmd.Context(), func(app *daemon.App) error {
				versions, err := sourceHistory(cmd.Context(), e, app, args[0])
				if err != nil {
					return err
				}
				return term.PrintList(e, versions, term.NewColumns(
					[]string{"state", "from", "to", "by", "values", "reason"},
					func(v Version) []any {
						return []any{v.State, v.From, v.To, wording.Shorten(wording.OrDash(v.Actor), 16), len(v.Paths), wording.Shorten(wording.OrDash(v.Reason), 34)}
					},
				))
			})
		},
	}
}

func sourceHistory(ctx context.Context, e *term.Env, app *daemon.App, code string) ([]Version, error) {
	stored, now, err := versionsOf(ctx, app, code)
	if err != nil {
		return nil, err
	}
	if len(stored) == 0 {
		if _, err := subject.FindStored(ctx, app, code); err != nil {
			return nil, err
		}
		e.Hint("%s is bundled and was never applied: it has no versions here", code)
	}
	out := []Version{}
	for _, v := range slices.Backward(stored) {
		out = append(out, Version{
			State: stateOf(v, now), From: v.From, To: v.To, AppliedAt: v.AppliedAt, Actor: v.Actor, Reason: v.Reason,
			Fingerprint: v.Fingerprint, Rows: v.Rows, Tables: append([]string{}, v.Tables...), Paths: append([]string{}, v.Paths...),
		})
	}
	return out, nil
}

// versionsOf reads all versions, oldest first, and what now is to the store.
func versionsOf(ctx context.Context, app *daemon.App, code string) ([]registry.SourceVersion, time.Time, error) {
	if app == nil {
		return nil, time.Time{}, nil
	}
	versions, err := app.Definitions.ListVersions(ctx, code)
	if err != nil {
		return nil, time.Time{}, err
	}
	now, err := app.Now(ctx)
	return versions, now, err
}

func stateOf(v registry.SourceVersion, now time.Time) string {
	switch {
	case v.Superseded:
		return VersionSuperseded
	case v.From.After(now):
		return VersionScheduled
	case !v.To.IsZero() && !v.To.After(now):
		return VersionEnded
	}
	return VersionInForce
}
