package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

// calmFor is how long a share of errors must be below its limit before it is no finding.
const calmFor = 20 * time.Minute

// addShares adds partitions in which too many batches meet errors or are told to slow
// down, from the sums of what ended lately. A condition that was measured there has the same
// cause, and is a fact of it.
func (s *statusBuilder) addShares(ctx context.Context) error {
	back := calmFor + max(s.limits.ErrorFor, s.limits.ThrottledFor) + time.Duration(view.ShortSlot)
	sums, err := s.from.Lately.WorkSums(ctx, view.SumQuery{Source: s.query.Source, From: s.report.Now.Add(-back), To: s.report.Now, Step: time.Duration(view.ShortSlot)})
	if err != nil {
		return err
	}
	var order []ingest.Partition
	of := map[ingest.Partition][]view.WorkSum{}
	for _, sum := range sums {
		p := ingest.Partition{Dataset: ingest.Dataset{Source: sum.Source, Endpoint: sum.Endpoint}, Operation: sum.Operation}
		if of[p] == nil {
			order = append(order, p)
		}
		of[p] = append(of[p], sum)
	}
	for _, p := range order {
		if s.isStopped(p) {
			continue
		}
		s.findShare(p, of[p], view.FoundErrors, view.WorkSum.ErrorShare, s.limitsOf(p.Dataset).ErrorShare, s.limits.ErrorFor, failures...)
		s.findShare(p, of[p], view.FoundThrottled, view.WorkSum.ThrottledShare, s.limitsOf(p.Dataset).ThrottledShare, s.limits.ThrottledFor, health.Throttled)
	}
	return nil
}

func (s *statusBuilder) findShare(p ingest.Partition, sums []view.WorkSum, code view.FindingCode, share func(view.WorkSum) float64, limit float64, lasts time.Duration, same ...health.Condition) {
	var slots []threshold.Slot
	var worst view.WorkSum
	for _, sum := range sums {
		slots = append(slots, threshold.Slot{Start: sum.From, Share: share(sum), Of: sum.Asked()})
		if sum.Asked() >= int64(s.limits.LeastBatches) && (worst.From.IsZero() || share(sum) > share(worst)) {
			worst = sum
		}
	}
	since, over := threshold.Over(slots, time.Duration(view.ShortSlot), lasts, limit, int64(s.limits.LeastBatches))
	if !over || limit == 0 {
		return
	}
	f := view.Finding{Code: code, Subject: view.Subject{Source: p.Source, Endpoint: p.Endpoint, Operation: string(p.Operation)}, Since: since, Work: &worst, Share: share(worst), MaxShare: limit}
	s.report.Findings = slices.DeleteFunc(s.report.Findings, func(c view.Finding) bool {
		at := c.Subject
		if c.Code != view.FoundCondition || !slices.Contains(same, c.Condition.Condition) || at.Source != p.Source || at.Endpoint != p.Endpoint || at.Operation != "" && at.Operation != string(p.Operation) {
			return false
		}
		f.Condition = c.Condition
		return true
	})
	s.find(f)
}

// addGrowth raises what is in quarantine where it grows: what comes now is lost for readers
// until a person acts.
func (s *statusBuilder) addGrowth(ctx context.Context) error {
	for n, f := range s.report.Findings {
		of := ingest.Dataset{Source: f.Subject.Source, Endpoint: f.Subject.Endpoint}
		most := s.limitsOf(of).QuarantineGrowth
		since := s.report.Now.Add(-growthSpan)
		if f.Code != view.FoundQuarantined || most == 0 || f.Count < most || s.beside.rejects[of].LastSeen.Before(since) {
			continue // a new item was also seen since then
		}
		grew, err := s.from.Lately.HasNewRejects(ctx, of, since, most)
		if err != nil {
			return err
		}
		if grew {
			s.report.Findings[n].Grows = most
			s.report.Findings[n] = s.report.Findings[n].Complete(s.limits, s.report.Now)
		}
	}
	return nil
}

// growthSpan is the time in which quarantine may grow by so much.
const growthSpan = time.Hour

// addQuotas adds rate keys of which little is left, of our own quotas or of what the upstream
// announces. It ends with the window of the quota. One that is used up is a condition of what
// waits for it.
func (s *statusBuilder) addQuotas(ctx context.Context) error {
	if s.from.Rates == nil || s.query.Source != "" || s.limits.QuotaLeftShare == 0 {
		return nil
	}
	reports, err := s.from.Rates.RateReports(ctx)
	if err != nil {
		return err
	}
	counted := false
	for _, of := range reports {
		counted = counted || slices.ContainsFunc(of, func(r view.RateReport) bool { return len(r.State.Quotas) > 0 || r.State.Announced.Limit != nil })
	}
	if !counted {
		return nil // most sources have none, and most installations
	}
	keys, err := s.RateKeys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		low := k.LowestQuota(s.report.Now, s.limits.QuotaLeftShare)
		if low == nil || slices.ContainsFunc(s.report.Findings, func(f view.Finding) bool { return f.Code == view.FoundCondition && f.Condition.RateKey == k.Key }) {
			continue
		}
		about := view.Subject{RateKey: k.Key}
		if len(k.Uses) > 0 {
			about.Source = k.Uses[0].Source
		}
		s.find(view.Finding{Code: view.FoundQuotaLow, Subject: about, Until: low.Reset, Quota: low, Heals: true})
	}
	return nil
}
