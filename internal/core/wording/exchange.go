package wording

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// RequestsText says what a page cost.
func RequestsText(x *ingest.Exchange) string {
	switch {
	case x == nil:
		return "not kept: it was stored by an older version"
	case x.Requests == 0 && x.Permits == 0:
		return "none were needed"
	}
	text := fmt.Sprintf("%d: %d retries, %d times told to slow down", x.Requests, x.Retries, x.Throttled)
	if x.Permits != x.Requests {
		text += fmt.Sprintf(", %d permits", x.Permits)
	}
	if x.Status == 0 {
		return text + ", no answer"
	}
	return text + fmt.Sprintf(", HTTP %d, %d bytes", x.Status, x.Bytes)
}

// GateText says how long a page waited for its permits, and what for.
func GateText(x *ingest.Exchange) string {
	if x == nil {
		return "-"
	}
	var waits []string
	for _, w := range []struct {
		on   string
		took time.Duration
	}{
		{"the rate", x.Waits.Rate}, {"a request to end (rate.concurrency)", x.Waits.Concurrency}, {"a quota", x.Waits.Quota},
		{"allowed hours", x.Waits.Hours}, {"the upstream's Retry-After", x.Waits.RetryAfter},
	} {
		if w.took >= time.Millisecond {
			waits = append(waits, fmt.Sprintf("%s for %s", w.took.Round(time.Millisecond), w.on))
		}
	}
	text := "no wait"
	if len(waits) > 0 {
		text = "waited " + strings.Join(waits, ", ")
	}
	if x.Rate > 0 {
		text += fmt.Sprintf("; %.4g requests a second in force", x.Rate)
	}
	switch x.Quota {
	case gate.Allow:
		text += "; its quota had room"
	case gate.Wait:
		text += "; its quota was used up for a while"
	}
	return text
}

// UpstreamTimeText says how long the upstream took for a page.
func UpstreamTimeText(x *ingest.Exchange) string {
	if x == nil || x.Permits == 0 {
		return "-"
	}
	text := x.Took.Round(time.Millisecond).String() + " for the last answer"
	if x.TookAll-x.Took >= time.Millisecond && x.Permits > 1 {
		text += fmt.Sprintf(", %s for all %d tries", x.TookAll.Round(time.Millisecond), x.Permits)
	}
	return text
}

// AutomaticText names what was done about conditions before the page was stored.
func AutomaticText(x *ingest.Exchange) string {
	if x == nil {
		return "-"
	}
	return OrDash(ActionsText(x.Actions))
}

// ActionsText says how often what was done about conditions; empty if nothing was.
func ActionsText(t health.Tally) string {
	var done []string
	for _, a := range health.Actions() {
		if n := t.Times(a); n > 0 {
			done = append(done, fmt.Sprintf("%s %d", a, n))
		}
	}
	return strings.Join(done, ", ")
}

// StatusesText says how many answers had which HTTP status, the lowest first; empty if
// nothing is known: no answer came, or an older version counted.
func StatusesText(t ingest.StatusTally) string {
	var out []string
	for _, status := range slices.Sorted(maps.Keys(t)) {
		if status != ingest.OddStatus {
			out = append(out, fmt.Sprintf("%d: %d", status, t[status]))
		}
	}
	if odd := t[ingest.OddStatus]; odd > 0 {
		out = append(out, fmt.Sprintf("unknown to HTTP: %d", odd))
	}
	return strings.Join(out, ", ")
}

// MembersText says how many requests each credential of a pool signed, and which were refused; empty without a pool.
func MembersText(t ingest.MemberTally) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(t)) {
		text := fmt.Sprintf("%s: %s", name, Count(t[name].Requests, "request"))
		if why := t[name].Refused; why != "" {
			text += ", refused (" + why + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// NextPageText says whether there is a next page, and by which rule that is known.
func NextPageText(b view.Batch) string {
	switch {
	case b.Exchange == nil || b.Status != string(ingest.BatchSucceeded):
		return "-"
	case b.Exchange.HasNext:
		return "yes" + NextRule(b.Request)
	}
	return "no" + NextRule(b.Request)
}

// NextRule is the rule that told whether there is a next page.
func NextRule(kept json.RawMessage) string {
	var evidence blackbox.Evidence
	if json.Unmarshal(kept, &evidence) != nil || evidence.Context == nil || evidence.Context.Why == "" {
		return ""
	}
	return ", because of: " + evidence.Context.Why
}

// BlameText says whose doing it is that a batch is not as it was.
func BlameText(r *blackbox.Report) string {
	switch {
	case r.Blames(blackbox.Source) && r.Blames(blackbox.Ours):
		return "the upstream and our side changed"
	case r.Blames(blackbox.Source):
		return "the upstream changed"
	}
	return "our side changed"
}
