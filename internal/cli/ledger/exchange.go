package ledger

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

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
