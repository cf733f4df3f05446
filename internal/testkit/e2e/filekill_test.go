package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/upsim"
)

const killedFileSource = `source: dump
name: Dump
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000, burst: 100}
endpoints:
  works:
    role: FILE
    files: {listing: index, every: P1D, packed: GZIP}
    response: {format: JSONL, items: $, id: $.id, fields: {title: $.title}}
  index:
    role: LISTING
    request: {path: /index}
    paging: {type: ONE}
    response: {items: $.files, id: $.name, fields: {address: $.name, lines: $.lines}}
`

// A process that is killed anywhere while it reads a file goes on where it stood: every item is
// stored, none is committed twice, the copy is not fetched again, and nothing was claimed
// before the end (D§5.26).
func TestKilledFileIsReadWholeAndOnce(t *testing.T) {
	const items = 3500 // four parts
	var text bytes.Buffer
	packed := gzip.NewWriter(&text)
	for n := range items {
		fmt.Fprintf(packed, `{"id":"w%d","title":"Work %d"}`+"\n", n, n)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		var fetched atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/index" {
				_ = json.NewEncoder(w).Encode(map[string]any{"files": []any{map[string]any{"name": "works.jsonl.gz", "lines": items}}})
				return
			}
			fetched.Add(1)
			http.ServeContent(w, r, "works.jsonl.gz", weekFrom, bytes.NewReader(text.Bytes()))
		}))
		t.Cleanup(server.Close)
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		w := newWorld(t, database, upsim.Config{Seed: 1, PerDay: 1}, upsim.Options{})
		file := filepath.Join(t.TempDir(), "dump.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, killedFileSource, server.URL), 0o600); err != nil {
			t.Fatal(err)
		}
		w.must("source", "apply", file)
		s := &subject{world: w, source: "dump"}
		s.settings = nil
		for _, at := range []string{
			string(crash.Committed) + ":1:kill", // the listing is stored and nothing follows from it yet
			string(crash.Records) + ":1:kill",   // in the middle of the first part
			string(crash.Committed) + ":1:kill", // behind the first part
			string(crash.BodyKept) + ":2:kill",  // before the third
			string(crash.Finishing) + ":1:kill", // all is read, and nobody said so
		} {
			cmd, output := s.armed(at, s.wholeArgs()...)
			_ = cmd.Wait()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
				t.Fatalf("%s: the harvest ended with %v: %s", at, cmd.ProcessState, output)
			}
		}
		s.must(s.wholeArgs()...)
		var files struct {
			Items []struct {
				Name, State string
				Items       int
			}
		}
		if err := json.Unmarshal([]byte(w.must("coverage", "files", "dump", "-o", "json")), &files); err != nil || len(files.Items) != 1 || files.Items[0].State != "READ" || files.Items[0].Items != items {
			t.Errorf("%+v %v", files, err)
		}
		var batches struct {
			Items []struct {
				Stats struct{ Seen, Inserted, Unchanged int }
			}
		}
		if err := json.Unmarshal([]byte(w.must("batch", "list", "--limit", "100", "-o", "json")), &batches); err != nil {
			t.Fatal(err)
		}
		seen, inserted := 0, 0
		for _, b := range batches.Items {
			seen, inserted = seen+b.Stats.Seen, inserted+b.Stats.Inserted
		}
		if seen != items || inserted != items {
			t.Errorf("%d items were committed and %d inserted, want %d of each", seen, inserted, items)
		}
		if n := fetched.Load(); n != 1 {
			t.Errorf("the file was fetched %d times", n)
		}
		w.must("coverage", "gaps", "dump")
		s.now = s.now.Add(25 * time.Hour)
		s.must(s.wholeArgs()...)
		if n := fetched.Load(); n != 1 {
			t.Errorf("a file that did not change was fetched %d times", n)
		}
	})
}
