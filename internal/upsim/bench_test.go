package upsim

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
)

func benchmarkPage(b *testing.B, accept string) {
	d := NewDataset(Config{Seed: 1, From: day("2024-01-01"), To: day("2024-04-10"), PerDay: 1000, PayloadBytes: 2000})
	s, err := NewServer(d, Options{LogLimit: -1})
	if err != nil {
		b.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodGet, "/works?rows=1000&sort=indexed&order=asc", nil)
	req.Header.Set("Accept-Encoding", accept)
	b.ReportAllocs()
	for b.Loop() {
		s.ServeHTTP(&sink{}, req)
	}
}

// sink throws the answer away, so that only the server is measured.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header {
	if s.header == nil {
		s.header = http.Header{}
	}
	return s.header
}
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}

func BenchmarkPage1000Plain(b *testing.B) { benchmarkPage(b, "identity") }
func BenchmarkPage1000Gzip(b *testing.B)  { benchmarkPage(b, "gzip") }

func BenchmarkMillionWorks(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		d := NewDataset(Config{Seed: 1, From: day("2021-01-01"), To: day("2023-09-28"), PerDay: 1000, PayloadBytes: 2000})
		runtime.GC()
		runtime.ReadMemStats(&after)
		if d.Len() != 1_000_000 {
			b.Fatal(d.Len())
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB-held")
	}
}

func BenchmarkTouch(b *testing.B) {
	d := NewDataset(Config{Seed: 1, From: day("2021-01-01"), To: day("2023-09-28"), PerDay: 1000})
	var works []Truth
	for h := range d.Heads() {
		if works = append(works, h); len(works) == 1000 {
			break
		}
	}
	i := 0
	for b.Loop() {
		if err := d.Touch(works[i%1000].DOI, day("2023-01-01"), true); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
