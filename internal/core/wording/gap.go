package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ToldGap is a stretch that is not done, as it is shown: with its reason in words.
type ToldGap struct {
	CursorID   int64         `json:"cursorId,omitempty"` // none if the endpoint was never harvested
	Source     string        `json:"source"`
	Endpoint   string        `json:"endpoint"`
	Field      string        `json:"cursorKey"`
	Window     window.Window `json:"window"`
	State      view.GapState `json:"state"`
	Reason     string        `json:"reason"`
	Fails      int           `json:"fails,omitempty"`
	RetryAfter time.Time     `json:"retryAt,omitzero"`

	Partitions []string `json:"partitions,omitempty"` // parts of the list that are missing, where others have been read

	Planned string `json:"planned,omitempty"` // who is to read it, where that is settled
}

// TellGaps puts gaps into words.
func TellGaps(gaps []view.Gap) []ToldGap {
	out := []ToldGap{}
	for _, g := range gaps {
		out = append(out, ToldGap{g.CursorID, g.Source, g.Endpoint, g.Field, g.Window, g.State, GapReason(g), g.Fails, g.RetryAfter, g.Partitions, GapPlanned(g)})
	}
	return out
}

// GapReason says why a range is not done, and for which parts of the list.
func GapReason(g view.Gap) string {
	why := gapReason(g)
	switch n := len(g.Partitions); {
	case n == 1:
		why = "only " + g.Partitions[0] + " is missing: " + why
	case n > 1 && n <= 3:
		why = "only " + strings.Join(g.Partitions, " and ") + " are missing: " + why
	case n > 3:
		why = fmt.Sprintf("only %d partitions are missing, such as %s: %s", n, g.Partitions[0], why)
	}
	if n := len(g.Refused); n > 0 && g.Reason != view.GapRefused {
		why += fmt.Sprintf("; %d of them: %s", n, refusedText(g.Refused))
	}
	return why
}

func gapReason(g view.Gap) string {
	switch g.Reason {
	case view.GapCapped:
		return fmt.Sprintf("failed %s: more than the upstream serves (CAPPED), no retry helps", timesText(g.Fails))
	case view.GapRefused:
		return refusedText(g.Refused) + "; the watermark stays before it until it is read or waived"
	case view.GapPaused:
		return fmt.Sprintf("failed %s, nothing is tried while the source is paused", timesText(g.Fails))
	case view.GapFailed:
		return fmt.Sprintf("failed %s, %s", timesText(g.Fails), retryText(g))
	case view.GapLeft:
		return fmt.Sprintf("owed when cursor %d was set by hand; no harvest goes back to it", g.CursorID)
	case view.GapOtherQuestion:
		return fmt.Sprintf("never asked for as the source asks now; cursor %d asked for something else", g.AskedBy)
	case view.GapOwed:
		return "never read, planned as of " + SecondText(g.WantedAt)
	case view.GapReopened:
		return fmt.Sprintf("read as of %s, wanted again as of %s", SecondText(g.ReadAt), SecondText(g.WantedAt))
	case view.GapNeverAsked:
		return "never asked for"
	}
	return string(g.Reason) // a new reason has no sentence yet; its code is better than another's
}

// refusedText says since when the upstream refuses parts of a list, and when they are asked for again.
func refusedText(all []sector.Refusal) string {
	first := all[0]
	for _, r := range all {
		if r.Recheck.Before(first.Recheck) {
			first = r
		}
	}
	return fmt.Sprintf("refused by the upstream (HTTP %d) since %s, asked for again from %s", first.Status, SecondText(first.Since), SecondText(first.Recheck))
}

// retryText says when a failed range is tried again.
func retryText(g view.Gap) string {
	if g.Waits {
		return "retry from " + SecondText(g.RetryAfter)
	}
	return "the next harvest tries it again"
}

func timesText(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// HeldPlanText says why a plan waits and what goes on with it.
func HeldPlanText(p view.HeldPlan) string {
	return fmt.Sprintf("plan %d waits since %s: %s. To go on: `%s`", p.ID, MinuteText(p.Limit.UsedUpAt), p.Limit.SpentText(), p.GoesOn())
}

// GapPlanned says who is to read a gap; empty where that is not settled.
func GapPlanned(g view.Gap) string {
	switch {
	case g.Planned == nil:
		return ""
	case g.Planned.Held != nil:
		return HeldPlanText(*g.Planned.Held)
	case g.Planned.Campaign != "":
		return fmt.Sprintf("campaign %s is to read it", Shorten(g.Planned.Campaign, 40))
	}
	return "planned, and waits for a worker or is worked on"
}
