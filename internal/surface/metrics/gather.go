package metrics

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// counted is a metric of this process: what it is, and what collects it.
type counted struct {
	Definition
	prometheus.Collector
}

// Gatherer collects the metrics of a process for a scrape. A registry of the library would
// check, hash and sort each series each time it is asked, which is most of the cost with
// thousands of them. Ours are held to their definitions by types and tests, and a series
// that was seen before keeps its place and its labels as text.
type Gatherer struct {
	meter *Meter
	few   *prometheus.Registry // of the runtime and the process itself

	mu    sync.Mutex // guards known
	known []series   // of each metric that is counted
}

// series are those of one metric, as they were seen so far.
type series struct {
	place map[prometheus.Metric]int
	rows  []row // sorted by labels
}

// row is one series with its value.
type row struct {
	labels string // as they are written, without braces
	metric *dto.Metric
	from   prometheus.Metric // where it is counted
	shown  sample            // where it is computed from stored rows
}

// family is a metric with its series. They are read, and not changed, by whoever got it.
type family struct {
	of   *Definition
	rows []row
}

// NewGatherer joins all metrics of a process, with those of its runtime.
func NewGatherer(m *Meter, a About) *Gatherer {
	r := prometheus.NewRegistry()
	registerProcess(r, a)
	return &Gatherer{meter: m, few: r, known: make([]series, len(m.own))}
}

// Gather returns all metrics in the form of the library, sorted as a registry does.
func (g *Gatherer) Gather() ([]*dto.MetricFamily, error) {
	families, err := g.few.Gather()
	for _, f := range g.gatherOwn(time.Now()) {
		families = append(families, f.forLibrary())
	}
	slices.SortFunc(families, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return families, err
}

// forLibrary returns the same in the form of the library.
func (f family) forLibrary() *dto.MetricFamily {
	out := &dto.MetricFamily{Name: &f.of.Name, Help: &f.of.Help, Type: familyTypes[f.of.Kind].Enum()}
	for _, r := range f.rows {
		out.Metric = append(out.Metric, r.metric)
	}
	return out
}

var familyTypes = map[Kind]dto.MetricType{Counter: dto.MetricType_COUNTER, Gauge: dto.MetricType_GAUGE, Histogram: dto.MetricType_HISTOGRAM}

// gatherOwn reads what the process counted, and what is shown of stored rows.
func (g *Gatherer) gatherOwn(now time.Time) (out []family) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.known {
		if rows := g.known[i].readRows(g.meter.own[i]); len(rows) > 0 {
			out = append(out, family{&g.meter.own[i].Definition, rows})
		}
	}
	return append(out, g.meter.gauges.gatherGauges(now)...)
}

// readRows reads all series of one metric. New ones are rare once a process has seen its
// sources.
func (s *series) readRows(c prometheus.Collector) []row {
	found := make(chan prometheus.Metric, 256)
	go func() {
		defer close(found)
		c.Collect(found)
	}()
	out, fresh := make([]row, len(s.rows)), []row(nil)
	for one := range found {
		read := new(dto.Metric)
		if one.Write(read) != nil {
			continue // which counters and histograms never say
		}
		if at, known := s.place[one]; known {
			out[at] = row{labels: s.rows[at].labels, metric: read, from: one}
		} else {
			fresh = append(fresh, row{labels: string(appendLabels(nil, read.Label)), metric: read, from: one})
		}
	}
	if len(fresh) > 0 {
		out = append(out, fresh...)
		slices.SortFunc(out, compareRows)
		s.place = make(map[prometheus.Metric]int, len(out))
		for i, r := range out {
			s.place[r.from] = i
		}
		s.rows = slices.Clone(out)
	}
	return slices.DeleteFunc(out, func(r row) bool { return r.metric == nil }) // of series that are gone, which none is
}

// compareRows sorts by values of labels: names of labels are the same in all series of a
// metric.
func compareRows(a, b row) int {
	for i, pair := range a.metric.Label {
		if order := strings.Compare(pair.GetValue(), b.metric.Label[i].GetValue()); order != 0 {
			return order
		}
	}
	return 0
}

// gatherGauges reads what is shown of stored rows, with ages as they are now.
func (b *gaugeBoard) gatherGauges(now time.Time) []family {
	s := b.shown.Load()
	if s == nil {
		return nil
	}
	s.laidOut.Do(s.layOut)
	older := max(now.Sub(s.since), 0).Seconds()
	out := make([]family, len(s.families))
	for i, f := range s.families {
		out[i] = family{f.of, make([]row, len(f.rows))}
		for n, r := range f.rows {
			value := r.shown.valueAfter(older)
			out[i].rows[n] = row{labels: r.labels, metric: &dto.Metric{Label: r.metric.Label, Gauge: &dto.Gauge{Value: &value}}}
		}
	}
	return out
}

// layOut sorts what is shown and writes its labels, once for all scrapes until the next
// reading.
func (s *shownGauges) layOut() {
	place := map[*Definition]int{}
	s.eachSample(func(one sample) {
		at, known := place[one.of]
		if !known {
			at = len(s.families)
			place[one.of], s.families = at, append(s.families, family{of: one.of})
		}
		pairs := pairLabels(one.of.Labels, one.labels)
		s.families[at].rows = append(s.families[at].rows, row{labels: string(appendLabels(nil, pairs)), metric: &dto.Metric{Label: pairs}, shown: one})
	})
	for _, f := range s.families {
		slices.SortFunc(f.rows, compareRows)
	}
}

// pairLabels joins names and values, sorted by name.
func pairLabels(names, values []string) []*dto.LabelPair {
	pairs, out := make([]dto.LabelPair, len(names)), make([]*dto.LabelPair, len(names))
	for i := range names {
		pairs[i].Name, pairs[i].Value = &names[i], &values[i]
		out[i] = &pairs[i]
	}
	slices.SortFunc(out, func(a, b *dto.LabelPair) int { return strings.Compare(*a.Name, *b.Name) })
	return out
}
