package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/upsim"
)

// F46: relays that write files die by kill -9 at any moment, two at a time. Every
// event arrives, what comes twice has equal bytes, and no file has half an event
// before another one.
func TestF46RelaysOfFilesAreKilledAtAnyMoment(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		s := ofKind(t, "token").start(t, database, upsim.Options{})
		s.finish()
		dir := filepath.Join(t.TempDir(), "out")
		file := intoFiles(t, dir)
		died := 0
		for round := range 6 {
			s.must("events", "replay", "--from", "1", "--reason", "once more")
			one, _ := s.child("events", "publish", "--events", file)
			other, _ := s.child("events", "publish", "--events", file)
			begun := len(files(t, dir))
			ended := make(chan struct{})
			go func() { _ = one.Wait(); close(ended) }()
			most := 1 << 30 // the first rounds wait for a file to be begun, the others die sooner or later
			if round >= 3 {
				most = rand.IntN(200)
			}
			someTime(t, dir, begun, most, ended)
			if one.Process.Kill() == nil {
				died++
			}
			_ = other.Process.Kill()
			<-ended
			_ = other.Wait()
		}
		if died == 0 {
			t.Error("no relay was killed")
		}
		s.sane()
		s.must("events", "publish", "--events", file)
		bytesOf := map[string]string{}
		for _, name := range files(t, dir) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			end := strings.LastIndexByte(string(text), '\n') + 1
			for line := range strings.Lines(string(text[:end])) {
				var e struct{ ID string }
				if err := json.Unmarshal([]byte(line), &e); err != nil || e.ID == "" {
					t.Fatalf("%s has half an event before another one: %.200s", name, line)
				}
				if was, twice := bytesOf[e.ID]; twice && was != line {
					t.Errorf("%s came with other bytes", e.ID)
				}
				bytesOf[e.ID] = line
			}
			if end < len(text) {
				t.Logf("%s ends with half an event", filepath.Base(name))
			}
		}
		if n := s.data.Len(); len(bytesOf) != n {
			t.Errorf("%d events for %d works", len(bytesOf), n)
		}
		s.sane()
	})
}

// someTime waits until a file was begun, for so many moments at most, or until the
// process ended by itself.
func someTime(t *testing.T, dir string, begun, most int, ended <-chan struct{}) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for looks := 0; looks < most && len(files(t, dir)) == begun; looks++ {
		select {
		case <-ended:
			return
		case <-look.C:
		}
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}
