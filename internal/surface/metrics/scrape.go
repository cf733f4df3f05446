package metrics

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/expfmt"
)

// mostScrapes is how many readers are answered at once.
const mostScrapes = 4

// newScrapeHandler answers scrapes. Text is written by page; what it does not know, such as
// the binary form with native histograms, compressed answers and a choice of metrics, is
// left to the library.
func newScrapeHandler(s Served) http.Handler {
	library := promhttp.HandlerFor(s.Metrics, promhttp.HandlerOpts{
		EnableOpenMetrics: true, ErrorLog: scrapeLog{s.Log}, ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: mostScrapes, DisableCompression: !s.Compress,
	})
	turns := make(chan struct{}, mostScrapes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		format := expfmt.NegotiateAccept(r.Header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
		kind := format.FormatType()
		if s.Compress || r.URL.RawQuery != "" || kind != expfmt.TypeTextPlain && kind != expfmt.TypeOpenMetrics {
			library.ServeHTTP(w, r)
			return
		}
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		default:
			http.Error(w, "too many scrapes at once, try again later", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", string(format))
		w.Header().Add("Vary", "Accept")
		s.writeText(w, format)
	})
}

var pages = sync.Pool{New: func() any { return new(page) }}

// writeText writes all metrics as text, those of the runtime by the library: they are few,
// and of kinds that page does not know.
func (s Served) writeText(w http.ResponseWriter, format expfmt.Format) {
	p := pages.Get().(*page)
	defer pages.Put(p)
	p.text, p.openMetrics = p.text[:0], format.FormatType() == expfmt.TypeOpenMetrics
	few, err := s.Metrics.few.Gather()
	var others bytes.Buffer
	encoder := expfmt.NewEncoder(&others, format)
	for _, f := range few {
		err = errors.Join(err, encoder.Encode(f))
	}
	if err != nil {
		s.Log.Warn("metrics could not be shown", "problem", err)
	}
	p.text = append(p.text, others.Bytes()...)
	for _, f := range s.Metrics.gatherOwn(time.Now()) {
		p.writeFamily(f)
	}
	if p.openMetrics {
		p.text = append(p.text, "# EOF\n"...)
	}
	_, _ = w.Write(p.text) // a reader that is gone needs no answer
}
