package work

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// outlookLines says what carrying out a plan will take, and what that rests on.
func outlookLines(d *daemon.PlanDraft) []string {
	f := d.Forecast
	if f.Slices == 0 {
		return nil
	}
	lines := []string{fmt.Sprintf("requests  %s%s%s", figureText(f.Requests), perEndpoint(f.Endpoints), basisText(d, f.Requests))}
	if text := d.LimitText(); text != "" {
		lines = append(lines, "limit     "+text)
	}
	if f.Items.Source != "" {
		lines = append(lines, fmt.Sprintf("items     %s%s", figureText(f.Items), basisText(d, f.Items)))
	}
	if f.Seconds != nil {
		lines = append(lines, fmt.Sprintf("duration  %s%s at the declared rate", atLeast(*f.Seconds), howLong(f.Seconds.Value)))
	}
	if f.Bytes != nil {
		lines = append(lines, fmt.Sprintf("bytes     %s%s (%s)", atLeast(*f.Bytes), term.SizeText(int64(f.Bytes.Value)), itemSize(*f.ItemBytes)))
	}
	if f.Disk != nil {
		lines = append(lines, fmt.Sprintf("disk      %s%s if all items are new (%.0f a record by the last `patra db size`)", atLeast(*f.Disk), term.SizeText(int64(f.Disk.Value)), f.RecordBytes.Value))
	} else if f.Items.Source != "" {
		lines = append(lines, "disk      not known: `patra db size` measures what a stored record takes")
	}
	if f.Money != nil {
		lines = append(lines, fmt.Sprintf("price     %s%.2f", atLeast(*f.Money), f.Money.Value))
	}
	lines = append(lines, quotaOutlook(d)...)
	if n := d.Stats.Bisected; n > 0 {
		lines = append(lines, fmt.Sprintf("%d cuts were made because a slice held too much", n))
	}
	if n := d.Stats.Merged; n > 0 {
		lines = append(lines, fmt.Sprintf("%d small slices were merged with a neighbour", n))
	}
	if n := d.Stats.Capped; n > 0 {
		lines = append(lines, fmt.Sprintf("%s larger than what the upstream serves and cannot be cut; it will fail as CAPPED", wording.CountAre(int(n), "slice")))
	}
	return lines
}

// howLong writes a number of seconds; what no duration can hold, in years.
func howLong(seconds float64) string {
	if years := seconds / (365 * 24 * 3600); years >= 200 {
		return fmt.Sprintf("%.0f years", years)
	}
	return (time.Duration(seconds) * time.Second).String()
}

// perEndpoint tells the requests apart where a plan asks more than one endpoint.
func perEndpoint(all []slicing.EndpointOutlook) string {
	if len(all) < 2 {
		return ""
	}
	var parts []string
	for _, e := range all {
		parts = append(parts, fmt.Sprintf("%s %s %s", e.Role, e.Endpoint, figureText(e.Requests)))
	}
	return " = " + strings.Join(parts, " + ")
}

func figureText(f slicing.Figure) string { return atLeast(f) + fmt.Sprintf("%.0f", f.Value) }

func atLeast(f slicing.Figure) string {
	if f.AtLeast {
		return "at least "
	}
	return ""
}

func basisText(d *daemon.PlanDraft, f slicing.Figure) string {
	switch f.Source {
	case slicing.FromCount:
		if d.Slices[0].Range != nil {
			return " (counted among the stored records)"
		}
		return " (counted by the upstream)"
	case slicing.FromHistory:
		return " (from earlier slices)"
	case slicing.FromFirstPage:
		return " (from first pages)"
	case slicing.FromConstant:
		return " (assumed, slicing.perDay)"
	}
	if d.Files {
		return fmt.Sprintf(" (the listing, and one more for each file that is new or changed; `patra source test %s` shows what is listed)", d.Source)
	}
	if d.Untold {
		return fmt.Sprintf(" (sizes are not known: the upstream was asked and did not tell; `patra source test %s` sends one request and shows the answer)", d.Source)
	}
	return fmt.Sprintf(" (sizes are not known; `patra plan %s --op %s --dry-run --count` asks the upstream)", d.Source, d.Operation)
}

func itemSize(f slicing.Figure) string {
	if f.Source == slicing.FromHistory {
		return fmt.Sprintf("%.0f an item in earlier slices", f.Value)
	}
	return fmt.Sprintf("%.0f an item assumed: nothing was read yet", f.Value)
}
