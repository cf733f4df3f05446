package inspect

import (
	"context"
	"slices"

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

// addDisks adds disks that are nearly full, and bodies of answers near their bound. Bodies that
// lie on a disk that is nearly full are a fact of it: who makes room there thinks of both. They
// are of this machine, so of no single source.
func (s *statusBuilder) addDisks() {
	if s.query.Source != "" || s.from.Place == nil {
		return
	}
	raw := s.from.Place.RawRoom()
	if raw != nil && (raw.Limit == 0 || s.limits.RawFullShare == 0 || float64(raw.Bytes) <= s.limits.RawFullShare*float64(raw.Limit)) {
		raw = nil
	}
	for _, d := range s.from.Place.Disks() {
		if !threshold.IsScarce(d.Total, d.Free, s.limits.DiskFreeShare) {
			continue
		}
		f := view.Finding{Code: view.FoundDiskLow, Subject: view.Subject{Path: d.Path}, Disk: &d}
		if slices.Contains(d.Holds, view.HoldsBodies) {
			f.Raw, raw = raw, nil
		}
		s.find(f)
	}
	if raw != nil {
		s.find(view.Finding{Code: view.FoundRawFull, Subject: view.Subject{Path: raw.Dir}, Raw: raw, Heals: true})
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
	if f, found := s.judgeSlow(samples); found && s.query.Source == "" {
		s.find(f)
	}
	return nil
}

// slowAnswers is how many in a row make a store slow.
const slowAnswers = 3

// judgeSlow tells how slow a store is whose last answers, the oldest first, all took too long.
// That it cannot be reached is told by engine/alert, which does not need it for that.
func (s *statusBuilder) judgeSlow(samples []view.StoreSample) (f view.Finding, found bool) {
	isSlow := func(one view.StoreSample) bool { return s.limits.StoreSlow > 0 && one.Took > s.limits.StoreSlow }
	if len(samples) < slowAnswers || slices.ContainsFunc(samples, func(one view.StoreSample) bool { return !isSlow(one) }) {
		return f, false
	}
	least := slices.MinFunc(samples, func(a, b view.StoreSample) int { return int(a.Took - b.Took) })
	return view.Finding{Code: view.FoundStoreSlow, Since: samples[0].At, Took: duration.Duration(least.Took), Limit: duration.Duration(s.limits.StoreSlow)}, true
}
