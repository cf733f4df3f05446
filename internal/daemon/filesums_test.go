package daemon

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// sumsBeside serves, beside the files of a server, a file with the checksum of each.
type sumsBeside struct {
	files http.Handler
	mu    sync.Mutex
	of    map[string]string // by the name of a file; what stands beside it
	asked int
}

func (s *sumsBeside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, isSum := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/files/"), ".md5")
	if !isSum {
		s.files.ServeHTTP(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	text, ok := s.of[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(text))
}

func sumOf(name string, body []byte) string { return fmt.Sprintf("MD5(%s)= %x\n", name, md5.Sum(body)) }

// A file counts when it fits the checksum that stands beside it. One that does not fit, and one beside which none stands or that of
// another file, is never done, and is read when it is (D§5.26).
func TestChecksumsBesideFilesMustFit(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newFilesWorld(t, database, strings.NewReplacer("packed: GZIP", "packed: GZIP, sumSuffix: .md5").Replace(fileSource))
		w.up.silent = true
		beside := &sumsBeside{files: w.up, of: map[string]string{}}
		server := httptest.NewServer(beside)
		t.Cleanup(server.Close)
		w.src.HTTP.BaseURL = server.URL
		day := w.now.Add(-48 * time.Hour)
		whole := map[string][]byte{}
		for i, name := range []string{"fits.jsonl.gz", "damaged.jsonl.gz", "other.jsonl.gz", "none.jsonl.gz"} {
			whole[name] = w.up.put(name, 100*i, 100*i+10, day).body
			beside.of[name] = sumOf(name, whole[name])
		}
		// It unpacks, and has one work less: only the checksum tells.
		text := `{"id":"w100","title":"x","changed":"2025-01-01T00:00:00Z"}` + "\n"
		w.up.files["damaged.jsonl.gz"].body = gzipped(text)
		beside.of["other.jsonl.gz"] = sumOf("fits.jsonl.gz", whole["fits.jsonl.gz"])
		delete(beside.of, "none.jsonl.gz")
		h := w.harvest(0)
		if h.Plan.Slices[string(ingest.SliceSucceeded)] != 1 || h.Plan.Slices[string(ingest.SliceFailed)] != 3 || h.Plan.Stats.Inserted != 10 || w.known().Cursor.Equal(w.now) {
			t.Fatalf("first: %v, %+v", h.Plan.Slices, h.Plan.Stats.BatchStats)
		}
		if beside.asked < 4 {
			t.Errorf("%d checksums were asked for", beside.asked)
		}
		for name, body := range whole {
			w.up.files[name].body = bytes.Clone(body)
			beside.of[name] = sumOf(name, body)
		}
		h = w.harvest(24 * time.Hour)
		if h.Plan.Stats.Inserted != 30 || !w.known().Cursor.Equal(w.now) {
			t.Fatalf("second: %v, %+v", h.Plan.Slices, h.Plan.Stats.BatchStats)
		}
	})
}
