package wording

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/view"
)

// OwnWait says a limit of our own in words.
func OwnWait(r gate.Reason) string {
	switch r {
	case gate.Quota:
		return "our own quota is used up"
	case gate.ClosedHours:
		return "outside of rate.hours"
	}
	return "others use the rate"
}

// WaitCode is the reason of a wait for a table.
func WaitCode(w *view.Waiting) string {
	if w == nil {
		return "-"
	}
	return string(w.Reason)
}

// TaskWaitText says why a task waits and until when.
func TaskWaitText(w view.Waiting) string {
	text := string(w.Reason)
	if !w.Until.IsZero() {
		text += " until " + SecondText(w.Until)
	}
	if w.Detail != "" {
		text += ": " + w.Detail
	}
	return text
}

// waitNext says what ends the wait of a task.
func waitNext(t view.Task) string {
	from := "when that is over"
	if !t.Waits.Until.IsZero() {
		from = "from " + SecondText(t.Waits.Until) + " on"
	}
	if t.Waits.Reason == gate.Breaker {
		return fmt.Sprintf("one task of %s/%s tests the upstream %s, and the others follow when it is back: patra rate list", t.Source, t.Endpoint, from)
	}
	if t.Waits.Reason == gate.Limit && t.Waits.Held != nil {
		return fmt.Sprintf("it waits because the requests of --max-requests are used up: `%s` continues plan %d", t.Waits.Held.GoesOn(), t.PlanID)
	}
	if t.Waits.Reason == gate.Quota && t.Waits.RateKey != "" {
		return fmt.Sprintf("it is taken %s. Sooner: %s", from, QuotaWayOut(t.Waits.RateKey))
	}
	return fmt.Sprintf("it is taken %s: patra rate list", from)
}
