package wording

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

func EventsWaitText(b view.Backlog, now time.Time) string {
	if b.Waiting == 0 {
		return "no event waits"
	}
	more, verb := "", "wait"
	if b.More {
		more = " or more"
	} else if b.Waiting == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("%s%s %s, the oldest for %s", Count(b.Waiting, "event"), more, verb, DurationText(now.Sub(b.Since)))
}

// EventsHeldText adds what was refused before and waits for its next try.
func EventsHeldText(b view.Backlog, now time.Time) string {
	if b.Failed == 0 {
		return EventsWaitText(b, now)
	}
	return EventsWaitText(b, now) + fmt.Sprintf(", %d failed and tried again", b.Failed)
}
