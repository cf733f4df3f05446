package metrics

import (
	"bytes"
	"log/slog"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// strange is a process that met all that may stand in a label or a value.
func strange(at time.Time) *Meter {
	m := NewMeter()
	work(m, partitionNo(2))
	work(m, partitionNo(0))
	work(m, ingest.Partition{Dataset: ingest.Dataset{Source: "a\\b\"c\nd \u00fc\u4e2d", Endpoint: ""}, Operation: ingest.Backfill})
	m.NoteTakeovers(3)
	g := world(at)
	for name, value := range map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "less": math.Inf(-1), "large": 1e21, "small": 1.5e-9, "none": 0, "million": 1e6} {
		g.Rates = append(g.Rates, view.RateKey{Key: name, Quotas: []view.RateQuota{{Name: "day", Left: value}}})
	}
	m.Show(g, at)
	return m
}

// The page that is written quickly is the one that the library writes, byte for byte.
func TestThePageIsThatOfTheLibrary(t *testing.T) {
	at := time.Now()
	g := NewGatherer(strange(at), about())
	for range 2 { // series that are new, and such that are known
		for _, f := range g.gatherOwn(at.Add(time.Minute)) {
			var text, open bytes.Buffer
			if _, err := expfmt.MetricFamilyToText(&text, f.forLibrary()); err != nil {
				t.Fatal(err)
			}
			if _, err := expfmt.MetricFamilyToOpenMetrics(&open, f.forLibrary()); err != nil {
				t.Fatal(err)
			}
			for form, want := range map[bool]string{false: text.String(), true: open.String()} {
				p := page{openMetrics: form}
				if p.writeFamily(f); string(p.text) != want {
					t.Errorf("%s\nwant\n%s", p.text, want)
				}
			}
		}
		work(g.meter, partitionNo(1)) // it sorts between the others
	}
}

// What is gathered without checks is what a registry gathers with them.
func TestWhatIsGatheredPassesTheChecksOfARegistry(t *testing.T) {
	m := strange(time.Now().Add(time.Hour)) // ages do not grow yet
	g := NewGatherer(m, about())
	for range 2 {
		want, err := newRegistry(m, about()).Gather()
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Gather()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d families, want %d, %v", len(got), len(want), err)
		}
		for i, f := range want {
			ours := strings.HasPrefix(f.GetName(), prefix) && f.GetName() != built.Name
			if got[i].GetName() != f.GetName() || ours && got[i].String() != f.String() {
				t.Errorf("%v\nwant\n%v", got[i], f)
			}
		}
		work(m, partitionNo(1))
	}
}

// Each form that a reader asks for has an answer.
func TestFormsOfAScrape(t *testing.T) {
	m := strange(time.Now())
	for accept, want := range map[string]string{
		"": "text/plain; version=0.0.4", "application/openmetrics-text;version=1.0.0": "application/openmetrics-text; version=1.0.0",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited": "application/vnd.google.protobuf",
	} {
		for _, compress := range []bool{false, true} {
			for _, path := range []string{"/metrics", "/metrics?name[]=" + lag.Name} {
				h := NewHandler(Served{Metrics: NewGatherer(m, about()), Compress: compress, Log: slog.New(slog.DiscardHandler)})
				r := httptest.NewRequest("GET", path, nil)
				r.Header.Set("Accept", accept)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), want) || !strings.Contains(w.Body.String(), lag.Name) {
					t.Errorf("%q %v: %d, %v", accept, compress, w.Code, w.Header())
				}
				if strings.Contains(w.Body.String(), queued.Name) == strings.Contains(path, "name") {
					t.Errorf("%q %s: not what was asked for", accept, path)
				}
				if strings.Contains(accept, "openmetrics") && !strings.HasSuffix(w.Body.String(), "# EOF\n") {
					t.Errorf("%q %v: it has no end", accept, compress)
				}
			}
		}
	}
}
