package status

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// findingLines puts findings into words. Of many alike only the first are told, and
// how many more there are.
func findingLines(all []view.Finding, now time.Time) []statusFinding {
	out := []statusFinding{}
	for _, f := range view.FoldFindings(all) {
		line := newStatusFinding(f.Finding, now)
		switch {
		case f.More == 0:
		case f.Code == view.FoundGap:
			line.Next = "patra coverage gaps " + f.Subject.Source
			line.Text = fmt.Sprintf("%s more; `%s` lists them", wording.Count(f.More, "gap"), line.Next)
		default:
			line.Subject, line.Next = view.Subject{}, "patra task list"
			line.About, line.Text = "queue", wording.Count(f.More, "slice")+" more that started over again and again: `patra task list` shows what is worked on"
		}
		out = append(out, line)
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
