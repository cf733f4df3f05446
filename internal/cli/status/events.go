package status

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// outboxLines is a line for every dataset with events that are not delivered.
func (r Report) outboxLines() (out string) {
	for _, b := range r.Events {
		text := wording.EventsHeldText(b, r.Now)
		if b.Dead > 0 {
			text += fmt.Sprintf(", %d dead", b.Dead)
		}
		switch {
		case b.HasPublisher(r.Relays, r.Now):
		case b.Relayed:
			text += "; no relay publishes them, last tried " + wording.MinuteText(b.TriedAt)
		default:
			text += "; no relay publishes them"
		}
		out += term.IndentLines(term.Printable("events of "+b.Source+"/"+b.Endpoint+": "+text), 80)
	}
	return out
}
