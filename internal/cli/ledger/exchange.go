package ledger

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// requestsText says what a page cost.
func requestsText(x *ingest.Exchange) string {
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

// gateText says how long a page waited for its permits, and what for.
func gateText(x *ingest.Exchange) string {
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

func upstreamText(x *ingest.Exchange) string {
	if x == nil || x.Permits == 0 {
		return "-"
	}
	text := x.Took.Round(time.Millisecond).String() + " for the last answer"
	if x.TookAll-x.Took >= time.Millisecond && x.Permits > 1 {
		text += fmt.Sprintf(", %s for all %d tries", x.TookAll.Round(time.Millisecond), x.Permits)
	}
	return text
}

// actionsText names what was done about conditions before the page was stored.
func actionsText(x *ingest.Exchange) string {
	if x == nil {
		return "-"
	}
	var done []string
	for _, a := range health.Actions() {
		if n := x.Actions.Times(a); n > 0 {
			done = append(done, fmt.Sprintf("%s %d", a, n))
		}
	}
	return wording.OrDash(strings.Join(done, ", "))
}

// nextPageText says whether there is a next page, and by which rule that is known.
func nextPageText(b view.Batch) string {
	switch {
	case b.Exchange == nil || b.Status != string(ingest.BatchSucceeded):
		return "-"
	case b.Exchange.HasNext:
		return "yes" + nextRule(b.Request)
	}
	return "no" + nextRule(b.Request)
}

func runLatencyText(s ingest.RunStats) string {
	if s.Answers == 0 {
		return "-"
	}
	return fmt.Sprintf("%d ms a page on average, %d ms the longest", s.TookMS/int64(s.Answers), s.SlowestMS)
}

// errorsText lists the errors of a run by level and code.
func errorsText(t ingest.FaultTally) string {
	var out []string
	for _, c := range t {
		text := fmt.Sprintf("%s %s %d", c.Level, c.Code, c.Times)
		if c.Batch > 0 {
			text += fmt.Sprintf(" (last at batch %d)", c.Batch)
		}
		out = append(out, text)
	}
	return wording.OrDash(strings.Join(out, ", "))
}

// sharesText tells the shares of §11.10.
func sharesText(s ingest.RunStats) string {
	if s.Seen == 0 {
		return "-"
	}
	sh := view.SharesOf(s)
	percent := func(of float64) string { return fmt.Sprintf("%.1f %%", 100*of) }
	return fmt.Sprintf("%s of what changed are updates, %s of items came twice, %s of what changed came late, %s of batches were stored before",
		percent(sh.Updates), percent(sh.Duplicates), percent(sh.Late), percent(sh.Repeated))
}

func lastPageText(s ingest.RunStats) string {
	switch {
	case s.Pages == 0:
		return "-"
	case s.HasNext > 0:
		return "has a next one"
	}
	return "has no next one"
}
