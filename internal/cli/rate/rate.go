package rate

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func New(e *term.Env) *cobra.Command {
	return term.NewGroup("rate", "Look at rate keys: the limits of each, and what it may send now", newRateList(e), newRateShow(e), newRateWatch(e), newRateRelease(e))
}

func newRateList(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List rate keys with their limits and whether requests may leave",
		Long: `List rate keys. All requests that are counted together share one: those of a
source, or of a group that sources name with rate.group, whose key begins with @.
Each credential of a pool has a key of its own, SOURCE:CREDENTIAL, beside that of the
pool, which has the limits of all of them.

ALLOWED is the lowest rate that its sources declare. NOW is what processes at work
may send at this moment; if no process is at work, it is not known. USED BY counts
the processes that have used the key. STATE says why no request may leave, with the
same reason that tasks show.`,
		Example: `  patra rate list
  patra rate list -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				keys, err := app.Inspect.RateKeys(cmd.Context())
				if err != nil {
					return err
				}
				hintIdle(e, keys)
				return term.PrintList(e, keys, rateColumns())
			})
		},
	}
}

// hintIdle says what cannot be seen.
func hintIdle(e *term.Env, keys []view.RateKey) {
	if !slices.ContainsFunc(keys, func(k view.RateKey) bool { return len(k.Processes) > 0 }) {
		e.Hint("no patra process is running: stored limits are shown, current rates are unknown")
	}
}

func newRateShow(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "show KEY",
		Short: "Show one rate key: limits, rate now and why, quotas, breakers, processes",
		Long: `Show one rate key: what its sources declare, what may leave now and why, until when
it cools down, how much of its quotas is used, the breaker of each endpoint, and the
processes that share it. Cool-downs, quotas and breakers are stored and always right.
The rest is what the gates of processes at work reported in the last seconds, also
those that share their rates through Redis; the server itself is not asked.`,
		Example: `  patra rate show crossref
  patra rate show crossref -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				k, err := rateKey(cmd.Context(), app, args[0])
				if err != nil {
					return err
				}
				hintIdle(e, []view.RateKey{k})
				return showRate(e, k)
			})
		},
	}
}

func rateKey(ctx context.Context, app *daemon.App, name string) (view.RateKey, error) {
	keys, err := app.Inspect.RateKeys(ctx)
	if err != nil {
		return view.RateKey{}, err
	}
	var known []string
	for _, k := range keys {
		if k.Key == name || k.Key == gate.GroupMark+name {
			return k, nil
		}
		known = append(known, k.Key)
	}
	return view.RateKey{}, term.UnknownWord("rate key", name, known)
}

func showRate(e *term.Env, k view.RateKey) error {
	if err := term.PrintFacts(e, k, rateFacts(k)); err != nil || e.Output == "json" {
		return err
	}
	fmt.Fprintln(e.Out, "\ncounted under it")
	if err := term.PrintList(e, k.Uses, rateUseColumns()); err != nil || len(k.Processes) == 0 {
		return err
	}
	fmt.Fprintln(e.Out, "\nprocesses at work")
	return term.PrintList(e, k.Processes, rateReportColumns())
}
