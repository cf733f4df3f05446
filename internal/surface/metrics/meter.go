package metrics

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/measure"
)

// Meter counts what one process does, and shows what was last computed from stored
// rows. It is safe for concurrent use.
type Meter struct {
	batches, items, httpRequests, httpBytes, failures, throttled, retries *prometheus.CounterVec
	healed, runs, advances, refused                                       *prometheus.CounterVec
	batchLatency, httpLatency, permitWait                                 *prometheus.HistogramVec
	commits                                                               prometheus.Histogram
	takeovers, unread                                                     prometheus.Counter
	own                                                                   []prometheus.Collector

	series sync.Map // ingest.Partition to *partition
	known  atomic.Int64
	gauges gaugeBoard
}

// mostPartitions bounds the series of what a process counts. More sources than that are
// counted together, under the name Others.
const mostPartitions = 3000

// Others is the source under which everything beyond the bound is counted.
const Others = "_others"

// Upper bounds of buckets, in seconds. Answers take from milliseconds to the time limit
// of a source; a wait at the gate may take as long as an upstream asks for.
var (
	answerBuckets = []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
	waitBuckets   = []float64{.001, .01, .1, .5, 1, 5, 30, 120, 600}
	commitBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 5}
)

// NewMeter makes a meter that has counted nothing.
func NewMeter() *Meter {
	m := &Meter{}
	for _, v := range []struct {
		of *(*prometheus.CounterVec)
		d  Definition
	}{
		{&m.batches, batches}, {&m.items, items}, {&m.httpRequests, httpRequests}, {&m.httpBytes, httpBytes}, {&m.failures, failures},
		{&m.throttled, throttled}, {&m.retries, retries}, {&m.healed, healed}, {&m.runs, runs}, {&m.advances, advances}, {&m.refused, refused},
	} {
		*v.of = prometheus.NewCounterVec(prometheus.CounterOpts{Name: v.d.Name, Help: v.d.Help}, v.d.Labels)
		m.own = append(m.own, *v.of)
	}
	m.batchLatency = newHistograms(batchLatency, answerBuckets)
	m.httpLatency = newHistograms(httpLatency, answerBuckets)
	m.permitWait = newHistograms(permitWait, waitBuckets)
	m.commits = prometheus.NewHistogram(histogramOptions(commits, commitBuckets))
	m.takeovers = prometheus.NewCounter(prometheus.CounterOpts{Name: takeovers.Name, Help: takeovers.Help})
	m.unread = prometheus.NewCounter(prometheus.CounterOpts{Name: unread.Name, Help: unread.Help})
	m.own = append(m.own, m.batchLatency, m.httpLatency, m.permitWait, m.commits, m.takeovers, m.unread)
	return m
}

func newHistograms(d Definition, buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(histogramOptions(d, buckets), d.Labels)
}

// histogramOptions asks for classic buckets and for native ones, which a Prometheus that
// knows them takes instead.
func histogramOptions(d Definition, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: d.Name, Help: d.Help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.2, NativeHistogramMaxBucketNumber: 60, NativeHistogramMinResetDuration: time.Hour,
	}
}

// partition holds the series of one partition: they are looked up once, and counted by
// atomic additions from then on.
type partition struct {
	labels                                 [3]string
	stored, failed, throttled, retries, in prometheus.Counter
	actions                                []prometheus.Counter // by itemActions
	classes                                [6]prometheus.Counter
	batch, answer, wait                    prometheus.Observer
}

func (m *Meter) seriesOf(of ingest.Partition) *partition {
	if found, ok := m.series.Load(of); ok {
		return found.(*partition)
	}
	labels := [3]string{of.Source, of.Endpoint, string(of.Operation)}
	if m.known.Add(1) > mostPartitions {
		labels = [3]string{Others, "", ""}
	}
	l := labels[:]
	p := &partition{
		labels: labels, stored: m.batches.WithLabelValues(with(l, "stored")...), failed: m.batches.WithLabelValues(with(l, "failed")...),
		throttled: m.throttled.WithLabelValues(l...), retries: m.retries.WithLabelValues(l...), in: m.httpBytes.WithLabelValues(l...),
		batch: m.batchLatency.WithLabelValues(l...), answer: m.httpLatency.WithLabelValues(l...), wait: m.permitWait.WithLabelValues(labels[0]),
	}
	for _, a := range itemActions {
		p.actions = append(p.actions, m.items.WithLabelValues(with(l, a.name)...))
	}
	for n, class := range statusClasses {
		p.classes[n] = m.httpRequests.WithLabelValues(with(l, class)...)
	}
	for _, level := range []string{"L1", "L2", "L3", "L4"} { // from zero, so that the first is an increase
		m.failures.WithLabelValues(with(l, level)...)
	}
	kept, _ := m.series.LoadOrStore(of, p)
	return kept.(*partition)
}

// statusClasses are the values of the label class, by the first digit of a status.
var statusClasses = [6]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// itemActions are the values of the label action, and the counter of each.
var itemActions = []struct {
	name string
	of   func(ingest.BatchStats) int
}{
	{"insert", func(s ingest.BatchStats) int { return s.Inserted }},
	{"update", func(s ingest.BatchStats) int { return s.Updated }},
	{"unchanged", func(s ingest.BatchStats) int { return s.Unchanged }},
	{"gone", func(s ingest.BatchStats) int { return s.Gone }},
	{"stale", func(s ingest.BatchStats) int { return s.Stale }},
	{"duplicate", func(s ingest.BatchStats) int { return s.Duplicate }},
	{"outside", func(s ingest.BatchStats) int { return s.Outside }},
	{"quarantined", func(s ingest.BatchStats) int { return s.Quarantined }},
}

// NoteAttempt counts a request, and how long it waited and took.
func (m *Meter) NoteAttempt(of ingest.Partition, a measure.Attempt) {
	p := m.seriesOf(of)
	if a.Refused != "" {
		m.refused.WithLabelValues(p.labels[0], string(a.Refused)).Inc()
		return
	}
	p.wait.Observe(a.Waited.Seconds())
	if a.Unsent {
		return
	}
	class := a.Status / 100
	if class < 0 || class >= len(p.classes) {
		class = 0
	}
	p.classes[class].Inc()
	p.answer.Observe(a.Took.Seconds())
	p.in.Add(float64(a.Bytes))
	if a.Status == 429 {
		p.throttled.Inc()
	}
}

// NoteFailure counts a try or a run that failed.
func (m *Meter) NoteFailure(of ingest.Partition, f measure.Failure) {
	p := m.seriesOf(of)
	m.failures.WithLabelValues(with(p.labels[:], string(f.Level))...).Inc()
	if f.Again {
		p.retries.Inc()
	}
}

// NoteBatch counts a page and its items.
func (m *Meter) NoteBatch(of ingest.Partition, b measure.Batch) {
	p := m.seriesOf(of)
	if !b.Stored {
		p.failed.Inc()
		return
	}
	p.stored.Inc()
	for n, a := range itemActions {
		if count := a.of(b.Stats); count > 0 {
			p.actions[n].Add(float64(count))
		}
	}
	if b.Took > 0 {
		p.batch.Observe(b.Took.Seconds())
	}
	m.commits.Observe(b.Commit.Seconds())
}

// NoteRun counts a run and what was done meanwhile about trouble.
func (m *Meter) NoteRun(of ingest.Partition, r measure.Run) {
	l := m.seriesOf(of).labels[:]
	m.runs.WithLabelValues(with(l, string(r.Outcome.Run))...).Inc()
	if r.Covered {
		m.advances.WithLabelValues(with(l, of.Operation.Direction())...).Inc()
	}
	for _, a := range health.Actions() {
		if n := r.Outcome.Stats.Actions.Times(a); n > 0 {
			m.healed.WithLabelValues(with(l, string(a))...).Add(float64(n))
		}
	}
}

// NoteTakeovers counts tasks that were taken over from workers that gave no sign of life.
func (m *Meter) NoteTakeovers(n int) { m.takeovers.Add(float64(n)) }
