package webui

import (
	"context"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/surface/recent"
)

// Rates tells how the queue and the rate keys stand, and lets a key go on.
type Rates interface {
	// Queue tells how the work of each partition stands, and how it went lately.
	Queue(ctx context.Context, q view.SumQuery) ([]view.QueueState, error)
	// Throughput tells what runs did, by step of time and partition.
	Throughput(ctx context.Context, q view.SumQuery) ([]view.WorkSum, error)
	// RateKeys lists the rate keys of all sources.
	RateKeys(ctx context.Context) ([]view.RateKey, error)
	ReleaseRate(ctx context.Context, key string, by ingest.Act) (view.RateReleased, error)
}

// ratePage is how the queue stands, how it went, and what keeps requests from leaving.
type ratePage struct {
	Ranges []choice
	From   time.Time
	Step   time.Duration
	Queue  part[[]queueRow]
	Sums   part[[]view.WorkSum]
	Runs   template.HTML
	Took   template.HTML
	Slowed template.HTML
	Keys   part[[]rateRow]
}

// queueRow is one partition.
type queueRow struct {
	view.QueueState
	Recent view.WorkSum // empty if nothing ended
}

// rateRow is one rate key.
type rateRow struct {
	view.RateKey
	Sources  []string
	State    []string
	Open     bool // nothing keeps its requests from leaving
	Allowed  string
	Reason   string
	Now      float64
	Declared float64
	Quotas   []quotaRow
	Breakers []fact
	Release  string // address; empty: not for this caller
}

type quotaRow struct {
	view.RateQuota
	Text string
	Tone string
}

// rateRange is a stretch of time that the page looks back on.
type rateRange struct{ length, step time.Duration }

var rateRanges = map[string]rateRange{"": {24 * time.Hour, time.Hour}, "1h": {time.Hour, 5 * time.Minute}, "24h": {24 * time.Hour, time.Hour}, "7d": {7 * 24 * time.Hour, 6 * time.Hour}}

// rateAnswers is what viewers of the page share for a moment.
type rateAnswers struct {
	queue *recent.Answer[[]view.QueueState]
	sums  *recent.Answer[[]view.WorkSum]
	keys  *recent.Answer[[]view.RateKey]
}

// newRateAnswers makes what is shared of every range. The keys are the same for all of them.
func newRateAnswers(from Rates, longest time.Duration) map[time.Duration]*rateAnswers {
	out := map[time.Duration]*rateAnswers{}
	keys := recent.New(longest, func(ctx context.Context, _ time.Time) ([]view.RateKey, error) { return from.RateKeys(ctx) })
	for _, r := range rateRanges {
		out[r.length] = &rateAnswers{keys: keys,
			queue: recent.New(longest, func(ctx context.Context, now time.Time) ([]view.QueueState, error) {
				return from.Queue(ctx, view.SumQuery{From: now.Add(-r.length), To: now})
			}),
			sums: recent.New(longest, func(ctx context.Context, now time.Time) ([]view.WorkSum, error) {
				return from.Throughput(ctx, view.SumQuery{From: now.Add(-r.length), To: now, Step: r.step})
			}),
		}
	}
	return out
}

func (r *rateAnswers) forget() {
	r.queue.Forget()
	r.sums.Forget()
	r.keys.Forget()
}

// showRate answers how much waits, how fast it is taken, and what slows it down.
func (s *site) showRate(a *ask) (page, error) {
	r, known := rateRanges[a.FormValue("since")]
	if !known {
		return page{}, fmt.Errorf("%w: since is 1h, 24h or 7d", fault.ErrInvalid)
	}
	p := ratePage{Ranges: a.choices("since", "1h", "24h", "7d")[1:], From: a.Now.Add(-r.length), Step: r.step}
	p.Ranges[1].Current = r == rateRanges[""]
	shared := s.rates[r.length]
	p.Queue = load(a, "the queue", func(ctx context.Context) (out []queueRow, err error) {
		all, err := shared.queue.Get(ctx, a.Now)
		for _, one := range keep(all, func(v view.QueueState) bool { return a.Caller.Sees(v.Source) }) {
			row := queueRow{QueueState: one}
			if one.Recent != nil {
				row.Recent = *one.Recent
			}
			out = append(out, row)
		}
		return out, err
	})
	p.Sums = load(a, "how it went", func(ctx context.Context) ([]view.WorkSum, error) {
		all, err := shared.sums.Get(ctx, a.Now)
		return keep(all, func(v view.WorkSum) bool { return a.Caller.Sees(v.Source) }), err
	})
	p.draw(a.Now, r)
	p.Keys = load(a, "the rate keys", func(ctx context.Context) (out []rateRow, err error) {
		all, err := shared.keys.Get(ctx, a.Now)
		for _, k := range all {
			if row, seen := newRateRow(a, k); seen {
				out = append(out, row)
			}
		}
		sortRows(out, func(x, y rateRow) int { return boolRank(x.Open) - boolRank(y.Open) })
		return out, err
	})
	return page{Template: "rate", Title: p.title(), Body: p, Live: liveAll}, nil
}

func boolRank(is bool) int {
	if is {
		return 1
	}
	return 0
}

func (p ratePage) title() string {
	if p.Queue.Broken != nil {
		return "How the queue stands is not known"
	}
	waiting, running, taken := 0, 0, 0.0
	for _, q := range p.Queue.Value {
		waiting, running, taken = waiting+q.Waiting, running+q.Running, taken+q.TakenPerHour
	}
	if waiting == 0 && running == 0 {
		return "No task waits"
	}
	text := fmt.Sprintf("%s %s, %s at work", countText(waiting, "task"), waitWord(waiting), groupDigits(running))
	if taken > 0 {
		text += fmt.Sprintf(", %s an hour are taken", wording.NumberText(taken))
	}
	return text
}

func waitWord(n int) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}

// draw makes the charts of the range.
func (p *ratePage) draw(now time.Time, r rateRange) {
	n := int(r.length / r.step)
	first := now.Truncate(r.step).Add(-r.step * time.Duration(n-1))
	well, badly, slowed, took, answers := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for _, one := range p.Sums.Value {
		i := int(one.From.Sub(first) / r.step)
		if one.From.Before(first) || i >= n {
			continue
		}
		well[i] += one.Runs.Succeeded + one.Runs.Partial
		badly[i] += one.Runs.Failed
		slowed[i] += one.Throttled
		took[i] += one.Took.Milliseconds()
		answers[i] += one.Answers
	}
	for i := range took {
		took[i] /= max(answers[i], 1)
	}
	at := func(i int) string { return first.Add(r.step * time.Duration(i)).Format("01-02 15:04") }
	p.Runs = drawBars(well, badly, func(i int) string { return fmt.Sprintf("%s: %d ended well, %d failed", at(i), well[i], badly[i]) }, "runs that ended, by time")
	p.Took = drawBars(took, nil, func(i int) string { return fmt.Sprintf("%s: %s on average", at(i), millisText(took[i])) }, "the upstreams' time for an answer, by time")
	p.Slowed = drawBars(nil, slowed, func(i int) string { return fmt.Sprintf("%s: %d", at(i), slowed[i]) }, "answers 429, by time")
}

// newRateRow makes the row of a key; false if the caller sees none of its sources.
func newRateRow(a *ask, k view.RateKey) (r rateRow, seen bool) {
	mine := keep(k.Uses, func(u view.RateUse) bool { return a.Caller.Sees(u.Source) })
	if !a.Caller.SeesAll() && len(mine) == 0 {
		return r, false
	}
	whole := len(mine) == len(k.Uses)
	k.Uses, k.Holds = mine, keep(k.Holds, func(h view.RateHold) bool { return a.Caller.Sees(h.Source) })
	r = rateRow{RateKey: k, State: wording.RateState(k), Allowed: wording.RateLimitsText(k.Limits), Reason: wording.RateReason(k)}
	r.Open = slices.Equal(r.State, []string{"open"})
	for _, u := range k.Uses {
		if !slices.Contains(r.Sources, u.Source) {
			r.Sources = append(r.Sources, u.Source)
		}
		if u.Breaker != nil {
			r.Breakers = append(r.Breakers, fact{u.Source + "/" + u.Endpoint, wording.BreakerText(u.Breaker)})
		}
	}
	if k.PerSecond != nil {
		r.Now = *k.PerSecond
	}
	if k.Limits != nil {
		r.Declared = k.Limits.PerSecond
	}
	for _, q := range k.Quotas {
		tone := "done"
		if q.Left < q.Usable/10 {
			tone = "fail"
		}
		r.Quotas = append(r.Quotas, quotaRow{q, wording.QuotaUseText(q), tone})
	}
	if whole {
		r.Release = local("/rate/release", "key", k.Key)
	}
	return r, true
}

// releaseRate lets go on what waits for a rate key. It touches all sources that share the
// key, so a caller must see all of them.
func (s *site) releaseRate(a *ask) (page, error) {
	name := a.FormValue("key")
	all, err := s.Work.Rates.RateKeys(a.Context())
	if err != nil {
		return page{}, err
	}
	at := slices.IndexFunc(all, func(k view.RateKey) bool { return k.Key == name })
	if at < 0 {
		return page{}, unseen("rate key", name)
	}
	if row, seen := newRateRow(a, all[at]); !seen || row.Release == "" {
		return page{}, unseen("rate key", name)
	}
	return perform(a, act[view.RateReleased]{
		do: func(ctx context.Context, by ingest.Act) (view.RateReleased, error) {
			return s.Work.Rates.ReleaseRate(ctx, name, by)
		},
		facts: releaseFacts, changes: view.RateReleased.Changed,
		means:    "The upstream may still refuse what is sent then: its own count is not ours. Its rate and the requests under way stay limited.",
		question: "Release the work that waits for " + name + "?", done: "What waited for " + name + " goes on",
		command: "patra rate release " + name, button: "Release", back: crumb{"Back to queue and rate", "/rate"}, way: []crumb{{"Queue and rate", "/rate"}},
	})
}

func releaseFacts(d view.RateReleased) []fact {
	out := []fact{{"rate key", d.Key}}
	var quotas []string
	for _, q := range d.Quotas {
		quotas = append(quotas, "of the "+q.Name)
	}
	if len(quotas) > 0 {
		out = append(out, fact{"quotas that begin anew", strings.Join(quotas, ", ")})
	}
	if !d.PausedUntil.IsZero() {
		out = append(out, fact{"pause of the upstream", "ends; it was until " + wording.SecondText(d.PausedUntil)})
	}
	if d.Breakers > 0 {
		out = append(out, fact{"breakers", fmt.Sprintf("%d closed", d.Breakers)})
	}
	return append(out, fact{"due at once", wording.Count(d.Tasks, "task")})
}
