package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newPlanTriggers(e *term.Env) *cobra.Command {
	l := term.Lister[view.TriggerRow]{
		Noun: "triggers", Statuses: []string{view.TriggerPlanned, view.TriggerRefused},
		Columns: triggerColumns(),
		ID:      func(t view.TriggerRow) int64 { return t.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]view.TriggerRow, error) {
			return app.Plans.ListTriggers(ctx, f)
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "triggers",
		Short: "List who asked for plans, newest first, and what came of it",
		Long: `List who asked for plans: ticks of schedules (INTERNAL), commands (CLI), calls
of the HTTP interface or the dashboard (API), and the jobs of outside schedulers.
Each led to a plan, or was refused for a reason.`,
		Example: `  patra plan triggers
  patra plan triggers --source crossref --status REFUSED
  patra plan triggers --limit 200 -o json`,
	})
	return c
}

func triggerColumns() term.Columns[view.TriggerRow] {
	return term.NewColumns([]string{"id", "at", "source", "by", "job, log", "outcome"}, func(t view.TriggerRow) []any {
		outcome := "none yet"
		switch {
		case t.PlanID != 0:
			outcome = fmt.Sprintf("plan %d", t.PlanID)
		case t.Refused != "":
			outcome = "refused: " + t.Refused
		}
		caller := strings.TrimSuffix(wording.Shorten(t.JobID, 16)+"\n"+wording.Shorten(t.LogID, 16), "\n")
		return []any{t.ID, wording.SecondText(t.At), wording.Shorten(t.Source, 14), describeAsker(t), wording.OrDash(caller), wording.Shorten(outcome, 44)}
	})
}

// describeAsker says who asked, and with which settings of their own.
func describeAsker(t view.TriggerRow) string {
	text := t.Type + " " + t.Scheduler
	var asked struct{ Overrides []string }
	if json.Unmarshal(t.Params, &asked) == nil { // what is of another shape has no settings
		for _, o := range asked.Overrides {
			text += "\n" + wording.Shorten(o, 30)
		}
	}
	return text
}

// callerText names the job of an outside scheduler.
func callerText(job, log string) string {
	text := ""
	if job != "" {
		text += ", job " + job
	}
	if log != "" {
		text += ", log " + log
	}
	return text
}
