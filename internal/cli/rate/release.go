package rate

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newRateRelease(e *term.Env) *cobra.Command {
	var a term.Acting
	c := &cobra.Command{
		Use:   "release KEY",
		Short: "Release the work that waits for a rate key",
		Long: `Release the work that waits for a rate key: its quotas for this hour and day start
again from zero, a pause that the upstream asked for ends, breakers close, and tasks
that were put back are due at once. Running processes notice within two seconds.

The upstream may still refuse what is sent then: its own count is not ours. Hours
(rate.hours) are not released, because the source file sets them. The limits on the
rate and on requests under way stay, so the source is not asked too often.

If a quota is wrong, correct it in the source file instead: ` + "`patra source apply`" + `
computes anew what waits for it, without this command.`,
		Example: `  patra rate release crossref --reason limit-was-raised
  patra rate release crossref --reason test --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.Reason == "" {
				return term.Usagef("--reason is needed: whoever finds this later will ask for it")
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				k, err := rateKey(cmd.Context(), app, args[0])
				if err != nil {
					return err
				}
				done, err := app.ReleaseRate(cmd.Context(), k.Key, a.Act())
				if err != nil {
					return err
				}
				return showRelease(e, done)
			})
		},
	}
	a.Flags(c)
	return c
}

func showRelease(e *term.Env, done view.RateReleased) error {
	facts := []term.Fact{{"rate key", done.Key}}
	for _, q := range done.Quotas {
		facts = append(facts, term.Fact{"quota of the " + q.Name, fmt.Sprintf("begins anew; %s were used", wording.NumberText(q.Used))})
	}
	if !done.PausedUntil.IsZero() {
		facts = append(facts, term.Fact{"pause of the upstream", "ended; it was until " + wording.SecondText(done.PausedUntil)})
	}
	if done.Breakers > 0 {
		facts = append(facts, term.Fact{"breakers", fmt.Sprintf("%d closed", done.Breakers)})
	}
	facts = append(facts, term.Fact{"due at once", wording.Count(done.Tasks, "task")})
	err := term.PrintFacts(e, done, facts)
	if !done.Changed() {
		e.Hint("nothing waited for %s", done.Key)
	}
	e.HintDryRun(done.DryRun)
	return err
}
