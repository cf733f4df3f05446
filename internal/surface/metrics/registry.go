package metrics

import (
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// About is what a process says of itself.
type About struct {
	Version  string
	Database string // its kind
	// Store tells what the writing transactions of this process met so far.
	Store func() (begun, redone int64, waited time.Duration)
}

// newRegistry joins all metrics of a process, with those of its runtime, for a file: its
// reader is strict, so each series is checked.
func newRegistry(m *Meter, a About) *prometheus.Registry {
	r := prometheus.NewRegistry()
	registerProcess(r, a)
	registerCounted(r, m)
	r.MustRegister(newBoardCollector(&m.gauges, time.Now))
	return r
}

// registerProcess adds what a process says of itself.
func registerProcess(r *prometheus.Registry, a About) {
	r.MustRegister(newInfo(a), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if a.Store != nil {
		r.MustRegister(
			newCounterFunc(steps, func() float64 { n, _, _ := a.Store(); return float64(n) }),
			newCounterFunc(redone, func() float64 { _, n, _ := a.Store(); return float64(n) }),
			newCounterFunc(stepWait, func() float64 { _, _, d := a.Store(); return d.Seconds() }))
	}
}

func registerCounted(r *prometheus.Registry, m *Meter) {
	for _, c := range m.own {
		r.MustRegister(c.Collector)
	}
}

// newStoredRegistry has only what stored rows say.
func newStoredRegistry(m *Meter, a About) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(newInfo(a), newBoardCollector(&m.gauges, time.Now))
	return r
}

func newInfo(a About) prometheus.Collector {
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: built.Name, Help: built.Help}, built.Labels)
	info.WithLabelValues(a.Version, runtime.Version(), a.Database).Set(1)
	return info
}

func newCounterFunc(d Definition, read func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, read)
}

// WriteStored writes what stored rows say, once, as text.
func WriteStored(w io.Writer, m *Meter, a About) error {
	families, err := newStoredRegistry(m, a).Gather()
	if err != nil {
		return err
	}
	return writeFamilies(w, families)
}

// WriteSource writes what this process did for one source, and what stored rows say of
// it. It leaves out whatever is not about that source: files of several harvests lie in
// one folder, and a series in two of them is an error of its reader.
func WriteSource(w io.Writer, m *Meter, a About, source string) error {
	families, err := newRegistry(m, a).Gather()
	if err != nil {
		return err
	}
	return writeSome(w, families, func(one *dto.Metric) bool { return hasLabel(one, "source", source) || hasLabel(one, "key", source) })
}

// WriteOperation writes what this process counted of one operation of a source. What
// stored rows say stands in the file of the harvest, or in that of patra metrics.
func WriteOperation(w io.Writer, m *Meter, source, operation string) error {
	r := prometheus.NewRegistry()
	registerCounted(r, m)
	families, err := r.Gather()
	if err != nil {
		return err
	}
	return writeSome(w, families, func(one *dto.Metric) bool { return hasLabel(one, "source", source) && hasLabel(one, "op", operation) })
}

func hasLabel(m *dto.Metric, name, value string) bool {
	return slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == value })
}

// writeSome writes the series that are wanted.
func writeSome(w io.Writer, families []*dto.MetricFamily, wanted func(*dto.Metric) bool) error {
	for _, f := range families {
		f.Metric = slices.DeleteFunc(f.Metric, func(one *dto.Metric) bool { return !wanted(one) })
	}
	return writeFamilies(w, slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return len(f.Metric) == 0 }))
}

func writeFamilies(w io.Writer, families []*dto.MetricFamily) error {
	encoder := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			return err
		}
	}
	return nil
}
