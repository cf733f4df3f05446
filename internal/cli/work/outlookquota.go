package work

import (
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// quotaOutlook says what a plan takes of the quotas, what holds it back now, and
// when it would be done if nothing else used its keys.
func quotaOutlook(d *daemon.PlanDraft) (lines []string) {
	for _, p := range d.Quotas {
		for _, q := range p.Shares {
			lines = append(lines, fmt.Sprintf("quota     %s%s: %s", q.Quota, ofKey(d, p), shareOf(q)))
		}
		if p.Reserved > 0 {
			lines = append(lines, fmt.Sprintf("reserved  %.0f requests by tasks of other plans%s that have not ended", p.Reserved, ofKey(d, p)))
		}
		if !p.CoolingUntil.IsZero() {
			lines = append(lines, fmt.Sprintf("cooling   the upstream asked for a pause%s: nothing leaves before %s", ofKey(d, p), minuteOf(p.CoolingUntil)))
		}
		if !p.HeldUntil.IsZero() {
			lines = append(lines, fmt.Sprintf("held      %s%s: %s, nothing is begun before %s; sooner with `patra rate release %s --reason WHY`",
				p.HeldBy, ofKey(d, p), wording.OwnWait(p.HeldBy), minuteOf(p.HeldUntil), p.Key))
		}
		if !p.Opens.IsZero() {
			lines = append(lines, fmt.Sprintf("closed    by rate.hours%s nothing leaves before %s", ofKey(d, p), minuteOf(p.Opens)))
		}
	}
	if n := d.Rolled; n > 0 {
		lines = append(lines, fmt.Sprintf("rolled    %d of %d slices wait for a later window of the quota or of the hours", n, len(d.Slices)))
	}
	return append(lines, finishLines(d)...)
}

// ofKey names the key where a plan uses more than one.
func ofKey(d *daemon.PlanDraft, p gate.Prospect) string {
	if len(d.Quotas) < 2 {
		return ""
	}
	return " (" + p.Key + ")"
}

func shareOf(q gate.Part) string {
	number := "%.0f"
	if q.Quota == "money" {
		number = "%.2f"
	}
	return fmt.Sprintf(number+" of "+number+" (%.0f %%), "+number+" left until %s", q.Needed, q.Limit, 100*q.Share(), q.Left, minuteOf(q.Reset))
}

// finishLines is the end of the last key. It is told where more than the rate decides.
func finishLines(d *daemon.PlanDraft) []string {
	var last time.Time
	bound := false
	for _, p := range d.Quotas {
		bound = bound || len(p.Shares) > 0 || !p.CoolingUntil.IsZero() || !p.HeldUntil.IsZero() || !p.Opens.IsZero()
		if p.Finish.IsZero() {
			return []string{"finish    not within 31 days"}
		}
		if p.Finish.After(last) {
			last = p.Finish
		}
	}
	if !bound {
		return nil
	}
	return []string{"finish    not before " + minuteOf(last) + ", if nothing else uses the quota"}
}

func minuteOf(at time.Time) string { return at.UTC().Format("2006-01-02T15:04Z") }
