package metrics

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// mostSeries bounds each metric of stored rows. Of more, the largest values are shown,
// and how many are not.
const mostSeries = 5000

// gaugeBoard shows what was last computed from stored rows. A scrape reads it and never
// waits for a database.
type gaugeBoard struct{ shown atomic.Pointer[shownGauges] }

type shownGauges struct {
	list   []sample
	since  time.Time // of this process's clock: when the values were true
	wasAt  time.Time // of the store's clock
	took   time.Duration
	hidden map[string]int // series by metric that are left out

	laidOut  sync.Once // by the first scrape: what follows
	families []family
}

// sample is one series of a metric of stored rows.
type sample struct {
	of     *Definition
	value  float64
	labels []string
	grows  bool // it is a time that goes on: an age or a lag
}

// Show replaces what is shown of stored rows. A database that is down from now on leaves
// it as it is, and ages grow: a lag must not look well because nobody can read it.
func (m *Meter) Show(g view.Gauges, read time.Time) {
	s := &shownGauges{since: read, wasAt: g.At, took: g.Took, hidden: map[string]int{}}
	for _, list := range [][]sample{samplesOfWork(g), samplesOfSources(g), samplesOfEvents(g), samplesOfRates(g), samplesOfFindings(g)} {
		s.list = append(s.list, list...)
	}
	s.boundSeries()
	m.gauges.shown.Store(s)
}

// NoteUnread counts that stored rows could not be read.
func (m *Meter) NoteUnread() { m.unread.Inc() }

// boundSeries leaves out the smallest values of metrics that have too many.
func (s *shownGauges) boundSeries() {
	counts := map[*Definition]int{}
	for _, one := range s.list {
		counts[one.of]++
	}
	for of, n := range counts {
		if n <= mostSeries {
			continue
		}
		s.hidden[of.Name] = n - mostSeries
		var ours, others []sample
		for _, one := range s.list {
			if one.of == of {
				ours = append(ours, one)
			} else {
				others = append(others, one)
			}
		}
		slices.SortStableFunc(ours, func(a, b sample) int { return cmp.Compare(b.value, a.value) })
		s.list = append(others, ours[:mostSeries]...)
	}
}

func samplesOfWork(g view.Gauges) (out []sample) {
	for _, w := range g.Work {
		out = append(out,
			sample{of: &queued, value: float64(w.Waiting), labels: []string{w.Source, w.Endpoint, w.Operation}},
			sample{of: &running, value: float64(w.Running), labels: []string{w.Source, w.Endpoint, w.Operation}})
	}
	out = append(out,
		sample{of: &processes, value: float64(g.Status.Processes), labels: []string{"executor"}},
		sample{of: &processes, value: float64(g.Status.Relays), labels: []string{"relay"}})
	if g.Raw != nil {
		out = append(out, sample{of: &rawBytes, value: float64(g.Raw.Bytes)}, sample{of: &rawLimit, value: float64(g.Raw.Limit)})
	}
	return out
}

// samplesOfSources tells of watermarks that sources ask for now: one that a source has
// left behind would be late for ever.
func samplesOfSources(g view.Gauges) (out []sample) {
	missing, rejected := map[ingest.Dataset]float64{}, map[ingest.Dataset]float64{}
	for _, s := range g.Status.Sources {
		of := ingest.Dataset{Source: s.Source, Endpoint: s.Endpoint}
		missing[of] += float64(len(s.Gaps))
		rejected[of] = max(rejected[of], float64(s.Quarantined))
		if !s.FreshTo.IsZero() {
			ns := strconv.FormatInt(s.CursorID, 10)
			out = append(out, sample{of: &lag, value: s.LagSec, labels: []string{s.Source, s.Endpoint, string(ingest.Harvest), ns}, grows: true})
		}
	}
	out = append(out, byDataset(&gaps, missing)...)
	out = append(out, byDataset(&quarantined, rejected)...)
	for _, c := range g.Backfill {
		out = append(out, sample{of: &lag, value: c.Ahead.Seconds(), labels: []string{c.Source, c.Endpoint, string(ingest.Backfill), "worst"}})
	}
	for of, b := range g.Breakers {
		out = append(out, sample{of: &breaker, value: 1, labels: []string{of.Source, of.Endpoint, string(b.State)}})
	}
	return out
}

func byDataset(of *Definition, values map[ingest.Dataset]float64) (out []sample) {
	for d, v := range values {
		out = append(out, sample{of: of, value: v, labels: []string{d.Source, d.Endpoint}})
	}
	return out
}

func samplesOfEvents(g view.Gauges) (out []sample) {
	for _, b := range g.Status.Events {
		for state, n := range map[string]int{"waiting": b.Waiting, "failed": b.Failed, "dead": b.Dead} {
			out = append(out, sample{of: &events, value: float64(n), labels: []string{b.Source, b.Endpoint, state}})
		}
		if !b.Since.IsZero() {
			out = append(out, sample{of: &eventLag, value: max(g.At.Sub(b.Since).Seconds(), 0), labels: []string{b.Source, b.Endpoint}, grows: true})
		}
	}
	return out
}

func samplesOfRates(g view.Gauges) (out []sample) {
	for _, k := range g.Rates {
		for _, q := range k.Quotas {
			out = append(out,
				sample{of: &budgetLeft, value: q.Left, labels: []string{k.Key, q.Name}},
				sample{of: &budget, value: q.Usable, labels: []string{k.Key, q.Name}})
		}
		if k.PerSecond == nil {
			continue // no living process has used the key
		}
		out = append(out, sample{of: &rate, value: *k.PerSecond, labels: []string{k.Key}})
		modes := map[string]int{"shared": 0, "own": 0}
		for _, p := range k.Processes {
			if p.State.Shared {
				modes["shared"]++
			} else {
				modes["own"]++
			}
		}
		for mode, n := range modes {
			out = append(out, sample{of: &gateMode, value: float64(n), labels: []string{k.Key, mode}})
		}
	}
	return out
}

// samplesOfFindings counts findings by code. How many sources have one is told by
// patra status; a series for each would have no bound.
func samplesOfFindings(g view.Gauges) (out []sample) {
	type kind struct{ code, severity string }
	counts := map[kind]int{}
	for _, f := range g.Status.Findings {
		counts[kind{string(f.Code), string(f.Severity)}]++
	}
	for k, n := range counts {
		out = append(out, sample{of: &findings, value: float64(n), labels: []string{k.code, k.severity}})
	}
	return out
}

// collectGauges sends what is shown, with ages as they are now.
func (b *gaugeBoard) collectGauges(now time.Time, send func(of *Definition, value float64, labels ...string)) {
	s := b.shown.Load()
	if s == nil {
		return
	}
	older := max(now.Sub(s.since), 0).Seconds()
	s.eachSample(func(one sample) { send(one.of, one.valueAfter(older), one.labels...) })
}

// eachSample visits what is shown.
func (s *shownGauges) eachSample(visit func(sample)) {
	for _, one := range s.list {
		visit(one)
	}
	for _, name := range slices.Sorted(maps.Keys(s.hidden)) {
		visit(sample{of: &leftOut, value: float64(s.hidden[name]), labels: []string{name}})
	}
	visit(sample{of: &computedAt, value: float64(s.wasAt.UnixMilli()) / 1000})
	visit(sample{of: &computedIn, value: s.took.Seconds()})
}

// valueAfter is the value some seconds later.
func (s sample) valueAfter(seconds float64) float64 {
	if s.grows {
		return s.value + seconds
	}
	return s.value
}

// boardCollector shows a board to a registry.
type boardCollector struct {
	board *gaugeBoard
	now   func() time.Time
	descs map[*Definition]*prometheus.Desc
}

func newBoardCollector(b *gaugeBoard, now func() time.Time) boardCollector {
	c := boardCollector{b, now, map[*Definition]*prometheus.Desc{}}
	for _, d := range []*Definition{
		&queued, &running, &lag, &gaps, &quarantined, &findings, &budgetLeft, &budget, &rate, &gateMode, &breaker, &events, &eventLag, &processes, &rawBytes, &rawLimit,
		&computedAt, &computedIn, &leftOut,
	} {
		c.descs[d] = prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
	}
	return c
}

// Describe names every metric of the board.
func (c boardCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect sends what is shown now.
func (c boardCollector) Collect(out chan<- prometheus.Metric) {
	c.board.collectGauges(c.now(), func(of *Definition, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(c.descs[of], prometheus.GaugeValue, value, labels...)
	})
}
