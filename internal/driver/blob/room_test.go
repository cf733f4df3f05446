package blob

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// words are what texts of the sample page are made of. Real abstracts repeat
// themselves no more than this.
const words = `the of and in to a for with on by as is from that were are at an was this between which these have been or study
results analysis using patients effect model data during high observed treatment cells protein growth surface method different increase water
temperature response gene expression clinical structure significant group based time soil energy carbon network learning risk health population
mechanism membrane oxidation catalytic polymer magnetic quantum seismic coastal marine forest dietary cognitive spatial urban policy economic`

// samplePage is a page of works as Crossref sends it, of about n bytes: fixed
// names of members round texts, numbers and identifiers that differ.
func samplePage(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	vocabulary := strings.Fields(words)
	text := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = vocabulary[r.IntN(len(vocabulary))]
		}
		return strings.Join(out, " ")
	}
	stamp := func() string {
		day, second := r.IntN(28)+1, r.IntN(86400)
		return fmt.Sprintf(`{"date-parts":[[2025,3,%d]],"date-time":"2025-03-%02dT%02d:%02d:%02dZ","timestamp":17410%08d}`,
			day, day, second/3600, second/60%60, second%60, r.IntN(1e8))
	}
	page := []byte(`{"status":"ok","message-type":"work-list","message-version":"1.0.0","message":{"facets":{},"total-results":4711,"items":[`)
	for len(page) < n {
		page = fmt.Appendf(page, `{"indexed":%s,"publisher":"%s","DOI":"10.%d\/j.%x","type":"journal-article","created":%s,"title":["%s"],`+
			`"abstract":"<jats:p>%s<\/jats:p>","is-referenced-by-count":%d,"author":[`, stamp(), text(3), r.IntN(9000)+1000, r.Uint64(), stamp(), text(12), text(140), r.IntN(300))
		for range 1 + r.IntN(6) {
			page = fmt.Appendf(page, `{"ORCID":"https:\/\/orcid.org\/0000-000%d-%04d-%04d","given":"%s","family":"%s","sequence":"additional","affiliation":[{"name":"%s"}]},`,
				r.IntN(4), r.IntN(1e4), r.IntN(1e4), text(1), text(1), text(5))
		}
		page = append(page, `],"reference":[`...)
		for i := range r.IntN(30) {
			page = fmt.Appendf(page, `{"key":"ref%d","doi-asserted-by":"publisher","DOI":"10.%d\/%x","volume":"%d","author":"%s","year":"%d"},`,
				i, r.IntN(9000)+1000, r.Uint32(), r.IntN(90), text(1), 1960+r.IntN(65))
		}
		page = fmt.Appendf(page, `],"container-title":["%s"],"deposited":%s,"ISSN":["%04d-%04d"],"score":0.0},`, text(4), stamp(), r.IntN(1e4), r.IntN(1e4))
	}
	return append(page, `],"items-per-page":100,"next-cursor":"AoJ+opaque"}}`...)
}

// A body takes at most a quarter of its room.
func TestRoom(t *testing.T) {
	s := open(t, t.TempDir())
	quarter(t, s, "sample", samplePage(500_000, 1))
}

// The same for real pages, where somebody has them.
func TestRoomOfRecordedPages(t *testing.T) {
	root := os.Getenv("PATRA_FIXTURES")
	if root == "" {
		t.Skip("PATRA_FIXTURES names no folder with recorded answers")
	}
	pages, err := filepath.Glob(filepath.Join(root, "crossref", "works-cursor-*.json"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	s := open(t, t.TempDir())
	for _, page := range pages {
		body, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		quarter(t, s, filepath.Base(page), body)
	}
}

func quarter(t *testing.T, s *Store, name string, body []byte) {
	t.Helper()
	_, stored, err := s.Put(t.Context(), body, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if 4*stored > int64(len(body)) {
		t.Errorf("%s: %d bytes take %d, %.1f %%", name, len(body), stored, 100*float64(stored)/float64(len(body)))
	}
	t.Logf("%s: %d bytes take %d, %.1f %%", name, len(body), stored, 100*float64(stored)/float64(len(body)))
}

// BenchmarkPut puts pages of 500 KB, new ones and ones that are there.
func BenchmarkPut(b *testing.B) {
	for _, c := range []struct {
		name  string
		fresh bool
	}{{"new", true}, {"there", false}} {
		b.Run(c.name, func(b *testing.B) {
			s, err := Open(b.TempDir(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			page := samplePage(500_000, 1)
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if c.fresh {
					copy(page[len(page)-20:], fmt.Sprintf("%020d", i))
				}
				if _, _, err := s.Put(b.Context(), page, "", nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGet reads a page of 500 KB and checks its hash.
func BenchmarkGet(b *testing.B) {
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	page := samplePage(500_000, 1)
	ref, _, err := s.Put(b.Context(), page, "", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, err := s.Get(b.Context(), ref); err != nil {
			b.Fatal(err)
		}
	}
}
