package work

import (
	"context"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// mostDifferences are told one by one.
const mostDifferences = 5

// hintSettings tells how a run differs from the last one of its kind: a setting that
// was given by hand once is easily forgotten in a timer.
func hintSettings(ctx context.Context, e *term.Env, app *daemon.App, c *spec.Compiled) {
	if w, missing := c.Snapshot.NoContact(); missing {
		subject.Warn(e, []spec.Warning{w})
	}
	last, known, err := app.Plans.FindLastSpec(ctx, ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: c.Snapshot.Operation})
	if err != nil || !known {
		return // the run itself says what is wrong with the database
	}
	before, err := spec.Load(last.Snapshot)
	if err != nil {
		return
	}
	differ := c.Snapshot.Differences(before)
	if len(differ) == 0 {
		return
	}
	var told []string
	for i, d := range differ {
		if i == mostDifferences {
			told = append(told, fmt.Sprintf("and %d more", len(differ)-mostDifferences))
			break
		}
		told = append(told, d.String())
	}
	e.Hint("settings differ from those of the last %s (plan %d, %s): %s", strings.ToLower(string(c.Snapshot.Operation)), last.PlanID, wording.MinuteText(last.CreatedAt), strings.Join(told, "; "))
}
