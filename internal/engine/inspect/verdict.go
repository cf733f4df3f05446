package inspect

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Result is what a run did, as far as its verdict depends on it.
type Result struct {
	Slices    map[string]int // by status
	Replaced  int            // of the PARTIAL ones: smaller slices have what they left
	Continued bool           // plans of earlier runs were taken up again
	Waiting   []window.Window
	Failures  []view.Failure
	Stats     ingest.RunStats
	Owed      *view.Owed // what failed and is still owed; nil: nobody looked
	Decided   bool       // somebody has decided about everything that was rejected
}

// Unfinished returns how many slices neither succeeded nor failed.
func (r Result) Unfinished() int {
	n := -r.Replaced
	for status, count := range r.Slices {
		if status != string(ingest.SliceSucceeded) && status != string(ingest.SliceFailed) {
			n += count
		}
	}
	return n
}

// ReadSince returns how many failed slices of plans that were taken up again are none by
// now: their windows were read by a later plan, and nothing that failed is owed.
func (r Result) ReadSince() int {
	if r.Owed == nil || len(r.Owed.Windows) > 0 || !r.Continued {
		return 0
	}
	return r.Slices[string(ingest.SliceFailed)]
}

// HarvestVerdict judges a harvest: with failures or rejects it is no success (D§5.16).
func (r Result) HarvestVerdict() view.RunVerdict {
	if n := r.Slices[string(ingest.SliceCancelled)]; n > 0 && n == r.Unfinished() && r.Slices[string(ingest.SliceFailed)] == 0 {
		return view.RunVerdict{Code: view.AllCancelled, Count: n}
	}
	if failed := r.Slices[string(ingest.SliceFailed)] - r.ReadSince() + r.Unfinished(); failed > 0 {
		return r.notCovered(failed)
	}
	if len(r.Waiting) > 0 { // or a day that fails for months would be a success between its retries
		return view.RunVerdict{Code: view.StillWaiting, Windows: r.Waiting}
	}
	if n := r.Stats.NewlyQuarantined(); n > 0 && !r.Decided {
		return view.RunVerdict{Code: view.ItemsRejected, Count: n}
	}
	return view.RunVerdict{Code: view.Complete}
}

// UpdateVerdict judges an update. Rejected are the items that somebody has to hear of.
func (r Result) UpdateVerdict(rejected int) view.RunVerdict {
	if failed := r.Slices[string(ingest.SliceFailed)] + r.Unfinished(); failed > 0 {
		return r.notCovered(failed)
	}
	if len(r.Waiting) > 0 {
		return view.RunVerdict{Code: view.StillWaiting, Windows: r.Waiting}
	}
	if left := r.Stats.Refresh.Left; left > 0 {
		return view.RunVerdict{Code: view.RecordsLeft, Count: left}
	}
	if rejected > 0 {
		return view.RunVerdict{Code: view.ItemsRejected, Count: rejected}
	}
	return view.RunVerdict{Code: view.Complete}
}

func (r Result) notCovered(failed int) view.RunVerdict {
	if cause := r.onlyCause(); cause != nil {
		return view.RunVerdict{Code: view.OneCause, Count: failed, Failure: cause}
	}
	return view.RunVerdict{Code: view.NotCovered, Count: failed}
}

// onlyCause returns the reason for which a run covered nothing, if there was only one.
func (r Result) onlyCause() *view.Failure {
	if r.Slices[string(ingest.SliceSucceeded)] > 0 {
		return nil
	}
	var cause *view.Failure
	for n, f := range r.Failures {
		switch {
		case f.Code == string(fault.Interrupted): // cancelled with the others
		case cause != nil && cause.Code != f.Code:
			return nil
		default:
			cause = &r.Failures[n]
		}
	}
	if cause == nil || fault.Code(cause.Code).Remedy() == fault.Unknown {
		return nil
	}
	return cause
}

// Failures returns why slices of plans are not covered, the most frequent reason first.
// What cannot be read is left out: a summary must not fail for it.
func (i *Inspector) Failures(ctx context.Context, plans []int64) (out []view.Failure) {
	for _, id := range plans {
		found, err := i.from.Failed.Failures(ctx, id)
		if err != nil {
			return out
		}
		for _, f := range found {
			same := slices.IndexFunc(out, func(o view.Failure) bool { return o.Code == f.Code && o.Status == f.Status })
			if same < 0 {
				out = append(out, f)
				continue
			}
			out[same].Slices += f.Slices
		}
	}
	slices.SortStableFunc(out, func(a, b view.Failure) int { return b.Slices - a.Slices })
	return out
}

// FailuresSince leaves out what failed before a run began and has ended: the run that met
// it has told of it, and its cause may be removed since. What is still to be tried stays.
func FailuresSince(now, earlier []view.Failure) (out []view.Failure) {
	for _, f := range now {
		for _, e := range earlier {
			if f.Code == e.Code && f.Status == e.Status && ingest.TaskStatus(f.Status).Terminal() {
				f.Slices -= e.Slices
			}
		}
		if f.Slices > 0 {
			out = append(out, f)
		}
	}
	return out
}

// CampaignVerdict judges what a run made of a campaign, from how it stood before and after.
func CampaignVerdict(state ingest.CampaignState, reason string, before, after view.Campaign) view.RunVerdict {
	rejected := after.Stats.NewlyQuarantined() - before.Stats.NewlyQuarantined()
	switch {
	case len(after.Failed) > 0:
		return view.RunVerdict{Code: view.NotCovered, Count: len(after.Failed), Retry: after.NextRetry}
	case state != ingest.CampaignCompleted:
		return view.RunVerdict{Code: view.Incomplete, Reason: reason}
	case rejected > 0:
		return view.RunVerdict{Code: view.ItemsRejected, Count: rejected}
	}
	return view.RunVerdict{Code: view.Complete}
}

// PartsOf returns how many plans what is left of a campaign will be cut into.
func PartsOf(left []window.Window, chunk time.Duration) int {
	var sum time.Duration
	for _, w := range left {
		sum += w.Duration()
	}
	return int(math.Ceil(float64(sum) / float64(max(chunk, 1))))
}

// HasOpenRejects reports whether items of a dataset are in quarantine that nobody has
// decided about: junk that comes again with every lookback is no news, and must not
// hide what is.
func (i *Inspector) HasOpenRejects(ctx context.Context, of ingest.Dataset) (bool, error) {
	open, err := i.from.Beside.UndecidedRejects(ctx, of.Source)
	return open[of].Items > 0, err
}
