package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Place is where the files of this installation lie.
type Place interface {
	// Disks lists the disks that hold files of it, as far as this machine knows.
	Disks() []view.Disk
	// RawRoom tells how much room the bodies of answers take; nil: none are kept, or they
	// were never swept.
	RawRoom() *view.RawRoom
}

// addDisks adds disks that are nearly full, and bodies of answers near their bound. They are
// of this machine, so of no single source.
func (s *statusBuilder) addDisks() {
	if s.query.Source != "" || s.from.Place == nil {
		return
	}
	for _, d := range s.from.Place.Disks() {
		if threshold.IsScarce(d.Total, d.Free, s.limits.DiskFreeShare) {
			s.find(view.Finding{Code: view.FoundDiskLow, Subject: view.Subject{Path: d.Path}, Disk: &d})
		}
	}
	if r := s.from.Place.RawRoom(); r != nil && r.Limit > 0 && s.limits.RawFullShare > 0 && float64(r.Bytes) > s.limits.RawFullShare*float64(r.Limit) {
		s.find(view.Finding{Code: view.FoundRawFull, Subject: view.Subject{Path: r.Dir}, Raw: r, Heals: true})
	}
}

// askClock asks the store for the time, and adds that it answers slowly: the time of this
// machine before and after is what it took. Only an answer that is slow each time counts.
func (s *statusBuilder) askClock(ctx context.Context) error {
	var samples []view.StoreSample
	for range slowAnswers {
		asked := s.from.Machine.ReadClock()
		now, err := s.from.Clock.Now(ctx)
		if err != nil {
			return err
		}
		answered := s.from.Machine.ReadClock()
		if len(samples) == 0 {
			s.report.Now = now
			s.addClock(asked, answered)
		}
		if samples = append(samples, view.StoreSample{At: now, Took: answered.Sub(asked)}); s.limits.StoreSlow == 0 || answered.Sub(asked) <= s.limits.StoreSlow {
			return nil
		}
	}
	if f, found := s.JudgeStore(samples, s.report.Now); found && s.query.Source == "" {
		s.report.Findings = append(s.report.Findings, f)
	}
	return nil
}

// slowAnswers is how many in a row make a store slow, or unreachable.
const slowAnswers = 3

// JudgeStore tells whether a store is slow or unreachable by the last questions to it, the
// oldest first. Who cannot reach the store cannot read findings from it: a process that
// tells of findings keeps its own samples and asks here.
func (i *Inspector) JudgeStore(samples []view.StoreSample, now time.Time) (f view.Finding, found bool) {
	if len(samples) < slowAnswers {
		return f, false
	}
	last := samples[len(samples)-slowAnswers:]
	failed := func(s view.StoreSample) bool { return s.Err != nil }
	slow := func(s view.StoreSample) bool { return s.Err != nil || s.Took > i.limits.StoreSlow }
	switch {
	case !slices.ContainsFunc(last, func(s view.StoreSample) bool { return !failed(s) }):
		f = view.Finding{Code: view.FoundUnreachable, Since: sinceOf(samples, failed), Error: last[len(last)-1].Err.Error()}
	case i.limits.StoreSlow > 0 && !slices.ContainsFunc(last, func(s view.StoreSample) bool { return !slow(s) }):
		least := slices.MinFunc(last, func(a, b view.StoreSample) int { return int(a.Took - b.Took) })
		f = view.Finding{Code: view.FoundStoreSlow, Since: sinceOf(samples, slow), Took: duration.Duration(least.Took), Limit: duration.Duration(i.limits.StoreSlow)}
	default:
		return f, false
	}
	return f.Complete(i.limits, now), true
}

// sinceOf returns when the row of samples began that all are bad, up to the last.
func sinceOf(samples []view.StoreSample, bad func(view.StoreSample) bool) (since time.Time) {
	for _, s := range slices.Backward(samples) {
		if !bad(s) {
			break
		}
		since = s.At
	}
	return since
}
