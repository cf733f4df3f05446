package metrics

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/patra-ingest/patra/internal/core/fault"
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
	own                                                                   []counted

	series sync.Map // ingest.Partition to *partition
	known  atomic.Int64
	gauges gaugeBoard
}

// mostPartitions bounds the series of what a process counts. More sources than that are
// counted together, under the name Others.
const mostPartitions = 3000

// Others is the source under which everything beyond the bound is counted.
const Others = "_others"

// Upper bounds of buckets, in seconds: few, since each of them is a series of every
// partition, and whoever wants more has the native ones. Answers take from milliseconds to
// the time limit of a source; a wait at the gate may take as long as an upstream asks for.
var (
	answerBuckets = []float64{.1, .5, 1, 2.5, 5, 10, 30}
	waitBuckets   = []float64{.01, .1, 1, 10, 60, 600}
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
		m.own = append(m.own, counted{v.d, *v.of})
	}
	m.batchLatency = newHistograms(batchLatency, answerBuckets)
	m.httpLatency = newHistograms(httpLatency, answerBuckets)
	m.permitWait = newHistograms(permitWait, waitBuckets)
	m.commits = prometheus.NewHistogram(histogramOptions(commits, commitBuckets))
	m.takeovers = prometheus.NewCounter(prometheus.CounterOpts{Name: takeovers.Name, Help: takeovers.Help})
	m.unread = prometheus.NewCounter(prometheus.CounterOpts{Name: unread.Name, Help: unread.Help})
	m.own = append(m.own, counted{batchLatency, m.batchLatency}, counted{httpLatency, m.httpLatency}, counted{permitWait, m.permitWait}, counted{commits, m.commits},
		counted{takeovers, m.takeovers}, counted{unread, m.unread})
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
// atomic additions from then on. What is rare, and what most sources never see, becomes a
// series when it first happens.
type partition struct {
	labels              [3]string
	stored, in, good    prometheus.Counter
	batch, answer, wait prometheus.Observer
	actions             [len(itemActions)]atomic.Pointer[prometheus.Counter]
}

// countItems adds to one of the actions.
func (p *partition) countItems(m *Meter, action, n int) {
	counter := p.actions[action].Load()
	if counter == nil {
		made := m.items.WithLabelValues(with(p.labels[:], itemActions[action].name)...)
		counter = &made
		p.actions[action].Store(counter)
	}
	(*counter).Add(float64(n))
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
		labels: labels, stored: m.batches.WithLabelValues(with(l, "stored")...),
		in: m.httpBytes.WithLabelValues(l...), good: m.httpRequests.WithLabelValues(with(l, statusClasses[2])...),
		batch: m.batchLatency.WithLabelValues(l...), answer: m.httpLatency.WithLabelValues(l...), wait: m.permitWait.WithLabelValues(labels[0]),
	}
	m.failures.WithLabelValues(with(l, string(fault.Fatal))...) // from zero: the first one has to wake somebody
	kept, _ := m.series.LoadOrStore(of, p)
	return kept.(*partition)
}

// statusClasses are the values of the label class, by the first digit of a status.
var statusClasses = [6]string{"none", "1xx", "2xx", "3xx", "4xx", "5xx"}

// itemActions are the values of the label action, and the counter of each.
var itemActions = [...]struct {
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
	{"excluded", func(s ingest.BatchStats) int { return s.Excluded }},
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
	if class := classOf(a.Status); class == 2 {
		p.good.Inc()
	} else {
		m.httpRequests.WithLabelValues(with(p.labels[:], statusClasses[class])...).Inc()
	}
	p.answer.Observe(a.Took.Seconds())
	p.in.Add(float64(a.Bytes))
	if a.Status == 429 {
		m.throttled.WithLabelValues(p.labels[:]...).Inc()
	}
}

// classOf returns the place of a status in statusClasses.
func classOf(status int) int {
	if class := status / 100; class > 0 && class < len(statusClasses) {
		return class
	}
	return 0
}

// NoteFailure counts a try or a run that failed.
func (m *Meter) NoteFailure(of ingest.Partition, f measure.Failure) {
	p := m.seriesOf(of)
	m.failures.WithLabelValues(with(p.labels[:], string(f.Level))...).Inc()
	if f.Again {
		m.retries.WithLabelValues(p.labels[:]...).Inc()
	}
}

// NoteBatch counts a page and its items.
func (m *Meter) NoteBatch(of ingest.Partition, b measure.Batch) {
	p := m.seriesOf(of)
	if !b.Stored {
		m.batches.WithLabelValues(with(p.labels[:], "failed")...).Inc()
		return
	}
	p.stored.Inc()
	for n, a := range itemActions {
		if count := a.of(b.Stats); count > 0 {
			p.countItems(m, n, count)
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
