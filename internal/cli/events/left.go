package events

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// CheckUndelivered says which events stayed in the outbox after they were published, why,
// and how they get out; nil if none did. Whoever runs this from a timer sees the exit
// code only.
func CheckUndelivered(ctx context.Context, e *term.Env, app *daemon.App, told File) error {
	backlogs, err := app.Events.ListBacklogs(ctx, "")
	if err != nil || len(backlogs) == 0 {
		return err
	}
	now, err := app.Now(ctx)
	if err != nil {
		return err
	}
	left, dead, more := 0, 0, ""
	for _, b := range backlogs {
		left, dead = left+b.Waiting+b.Failed, dead+b.Dead
		if b.More {
			more = " or more"
		}
		text := wording.EventsHeldText(b, now)
		if b.Dead > 0 {
			text += fmt.Sprintf(", %d dead", b.Dead)
		}
		e.Hint("events of %s/%s: %s%s", b.Source, b.Endpoint, text, awayText(b))
	}
	if left == 0 {
		return term.Partialf("%s dead: `patra outbox list --status DEAD` shows them, then retry or discard them", wording.Count(dead, "event"))
	}
	also := ""
	if dead > 0 {
		also = fmt.Sprintf(", and %d dead", dead)
	}
	return term.Partialf("%s%s not delivered yet%s; they stay in the outbox: `%s` publishes those that wait, `patra events deliveries` says why they do, `patra outbox list` shows them",
		wording.Count(left, "event"), more, also, told.PublishCommand())
}

func awayText(b view.Backlog) (out string) {
	for _, a := range b.Away {
		out += fmt.Sprintf("; receiver %s is unreachable: %s", a.Destination, wording.Shorten(a.Error, 120))
	}
	return out
}
