package cli

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

func waitText(b view.Backlog, now time.Time) string {
	if b.Waiting == 0 {
		return "no event waits"
	}
	more, verb := "", "wait"
	if b.More {
		more = " or more"
	} else if b.Waiting == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("%s%s %s, the oldest for %s", counted(b.Waiting, "event"), more, verb, age(now.Sub(b.Since)))
}

// heldText adds what was refused before and waits for its next try.
func heldText(b view.Backlog, now time.Time) string {
	if b.Failed == 0 {
		return waitText(b, now)
	}
	return waitText(b, now) + fmt.Sprintf(", %d failed and tried again", b.Failed)
}

// outbox is a line for every dataset with events that are not delivered.
func (r statusReport) outbox() (out string) {
	for _, b := range r.Events {
		text := heldText(b, r.Now)
		if b.Dead > 0 {
			text += fmt.Sprintf(", %d dead", b.Dead)
		}
		switch {
		case b.HasPublisher(r.Relays, r.Now):
		case b.Relayed:
			text += "; nobody publishes them, last tried " + minuteText(b.TriedAt)
		default:
			text += "; nobody publishes them"
		}
		out += indented(printable("events of "+b.Source+"/"+b.Endpoint+": "+text), 80)
	}
	return out
}
