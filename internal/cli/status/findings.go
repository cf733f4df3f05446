package status

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// shownGaps is how many gaps of an endpoint are told one by one, and how many slices
// that started over.
const shownGaps = 3

// findingLines puts findings into words. Of many alike only the first are told, and
// how many more there are.
func findingLines(all []view.Finding, now time.Time) []statusFinding {
	type alike struct {
		code view.FindingCode
		view.Subject
	}
	kind := func(f view.Finding) alike {
		if f.Code == view.FoundGap {
			return alike{f.Code, f.Subject}
		}
		return alike{code: f.Code}
	}
	total, told := map[alike]int{}, map[alike]int{}
	for _, f := range all {
		total[kind(f)]++
	}
	out := []statusFinding{}
	for _, f := range all {
		more := total[kind(f)] - shownGaps
		switch told[kind(f)]++; {
		case f.Code != view.FoundGap && f.Code != view.FoundStartedOver, told[kind(f)] <= shownGaps:
			out = append(out, newStatusFinding(f, now))
		case told[kind(f)] > shownGaps+1:
		case f.Code == view.FoundGap:
			line := newStatusFinding(f, now)
			line.Next = "patra coverage gaps " + f.Subject.Source
			line.Text = fmt.Sprintf("%s more; `%s` lists them", wording.Count(more, "gap"), line.Next)
			out = append(out, line)
		default:
			line := newStatusFinding(f, now)
			line.Subject, line.Next = view.Subject{}, "patra task list"
			line.About, line.Text = "queue", wording.Count(more, "slice")+" more that started over again and again: `patra task list` shows what is worked on"
			out = append(out, line)
		}
	}
	return out
}

// newStatusFinding puts a finding into words, with the command to type where the sentence
// does not have it.
func newStatusFinding(f view.Finding, now time.Time) statusFinding {
	return statusFinding{
		About: wording.FindingAbout(f), Text: wording.FindingLine(f, now), Code: f.Code, Severity: f.Severity, Subject: f.Subject, Since: f.Since, Until: f.Until, Heals: f.Heals, Next: f.Next,
	}
}
