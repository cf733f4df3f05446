package reason

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

func WaitText(b view.Backlog, now time.Time) string {
	if b.Waiting == 0 {
		return "no event waits"
	}
	more, verb := "", "wait"
	if b.More {
		more = " or more"
	} else if b.Waiting == 1 {
		verb = "waits"
	}
	return fmt.Sprintf("%s%s %s, the oldest for %s", term.Count(b.Waiting, "event"), more, verb, term.AgeText(now.Sub(b.Since)))
}

// HeldText adds what was refused before and waits for its next try.
func HeldText(b view.Backlog, now time.Time) string {
	if b.Failed == 0 {
		return WaitText(b, now)
	}
	return WaitText(b, now) + fmt.Sprintf(", %d failed and tried again", b.Failed)
}
