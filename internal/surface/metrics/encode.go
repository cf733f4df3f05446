package metrics

import (
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// page writes metrics as text: in the form of Prometheus, or as OpenMetrics. It writes the
// same bytes as the library for the kinds of metrics that we have, and takes a small part
// of its time: it neither looks for names to escape nor writes labels again and again.
type page struct {
	text        []byte
	openMetrics bool
	labels      string // of the series that is written, without braces
}

func (p *page) writeFamily(f family) {
	title, kind := f.of.Name, string(f.of.Kind)
	if p.openMetrics && f.of.Kind == Counter {
		title = strings.TrimSuffix(title, "_total")
	}
	p.text = append(append(append(p.text, "# HELP "...), title...), ' ')
	p.text = appendEscaped(p.text, f.of.Help, p.openMetrics)
	p.text = append(append(append(p.text, "\n# TYPE "...), title...), ' ')
	p.text = append(append(p.text, kind...), '\n')
	for _, r := range f.rows {
		p.labels = r.labels
		switch m := r.metric; f.of.Kind {
		case Histogram:
			p.writeHistogram(f.of.Name, m.Histogram)
		case Counter:
			p.writeSeries(f.of.Name, "", "", m.Counter.GetValue())
		default:
			p.writeSeries(f.of.Name, "", "", m.Gauge.GetValue())
		}
	}
}

func (p *page) writeHistogram(name string, h *dto.Histogram) {
	endless := false
	for _, b := range h.Bucket {
		p.writeCount(name, "_bucket", p.boundText(b.GetUpperBound()), b.GetCumulativeCount())
		endless = endless || math.IsInf(b.GetUpperBound(), 1)
	}
	if !endless {
		p.writeCount(name, "_bucket", "+Inf", h.GetSampleCount())
	}
	p.writeSeries(name, "_sum", "", h.GetSampleSum())
	p.writeCount(name, "_count", "", h.GetSampleCount())
}

// writeCount writes a whole number. Only OpenMetrics has such.
func (p *page) writeCount(name, suffix, bound string, n uint64) {
	if !p.openMetrics {
		p.writeSeries(name, suffix, bound, float64(n))
		return
	}
	p.beginSeries(name, suffix, bound)
	p.text = append(strconv.AppendUint(p.text, n, 10), '\n')
}

func (p *page) writeSeries(name, suffix, bound string, value float64) {
	p.beginSeries(name, suffix, bound)
	p.text = append(p.appendFloat(p.text, value), '\n')
}

func (p *page) beginSeries(name, suffix, bound string) {
	p.text = append(append(p.text, name...), suffix...)
	if len(p.labels) > 0 || bound != "" {
		p.text = append(append(p.text, '{'), p.labels...)
		if bound != "" {
			if len(p.labels) > 0 {
				p.text = append(p.text, ',')
			}
			p.text = append(append(append(p.text, `le="`...), bound...), '"')
		}
		p.text = append(p.text, '}')
	}
	p.text = append(p.text, ' ')
}

func (p *page) boundText(bound float64) string { return string(p.appendFloat(nil, bound)) }

// appendFloat writes a number. In OpenMetrics one looks like a fraction, always.
func (p *page) appendFloat(to []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(to, "NaN"...)
	case math.IsInf(f, 1):
		return append(to, "+Inf"...)
	case math.IsInf(f, -1):
		return append(to, "-Inf"...)
	}
	began := len(to)
	to = strconv.AppendFloat(to, f, 'g', -1, 64)
	if p.openMetrics && !strings.ContainsAny(string(to[began:]), "e.") {
		to = append(to, ".0"...)
	}
	return to
}

func appendLabels(to []byte, labels []*dto.LabelPair) []byte {
	for i, l := range labels {
		if i > 0 {
			to = append(to, ',')
		}
		to = append(append(to, l.GetName()...), `="`...)
		to = append(appendEscaped(to, l.GetValue(), true), '"')
	}
	return to
}

func appendEscaped(to []byte, text string, quotes bool) []byte {
	if !strings.ContainsAny(text, "\\\n\"") {
		return append(to, text...)
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\\':
			to = append(to, `\\`...)
		case c == '\n':
			to = append(to, `\n`...)
		case c == '"' && quotes:
			to = append(to, `\"`...)
		default:
			to = append(to, c)
		}
	}
	return to
}
