package daemon

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// said counts the lines of the log that have all of some words.
func (s *station) said(words ...string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.log.String()) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			n++
		}
	}
	return n
}

// A source that is stopped raised its alarm when it was stopped. Its ticks say once
// that nothing is planned, and leave their reason in the ledger. When its file is
// changed the next tick tries it.
func TestTrust15AStoppedSourceIsNoAlarmPerTick(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	synctest.Test(t, func(t *testing.T) {
		s := openStation(t, file)
		s.pass(time.Hour)
		s.apply(func(src *registry.Source) { src.Schedule = every(10 * time.Minute) })
		if _, _, err := s.app.store.PauseSource(t.Context(), ingest.Scope{Source: "crossref"}, ingest.Act{Actor: ingest.ByItself, Reason: "UNAUTHORIZED (HTTP 401)"}); err != nil {
			t.Fatal(err)
		}
		s.serve()
		s.pass(61 * time.Minute)
		if n := len(s.triggers()); n < 5 {
			t.Fatalf("%d ticks", n)
		}
		for _, line := range s.triggers() {
			if !strings.Contains(line, "is paused since") {
				t.Errorf("trigger %s", line)
			}
		}
		if alarms, told := s.said("level=ERROR"), s.said("level=WARN", "a tick led to no plan"); alarms != 0 || told != 1 {
			t.Errorf("%d alarms, told %d times:\n%s", alarms, told, s.log.String())
		}
		s.apply(func(src *registry.Source) { src.Schedule, src.Name = every(10*time.Minute), "another file" })
		s.pass(11 * time.Minute)
		all := s.triggers()
		if last := all[len(all)-1]; !strings.Contains(last, "plan 1") || s.said("is tried again") != 1 {
			t.Errorf("after its file was changed: %s\n%s", last, s.log.String())
		}
		s.close()
	})
}

// What cannot be planned is an alarm once, not with every tick.
func TestTrust15ARefusedScheduleIsOneAlarm(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	synctest.Test(t, func(t *testing.T) {
		s := openStation(t, file)
		s.pass(time.Hour)
		s.apply(func(src *registry.Source) {
			src.Schedule = every(10 * time.Minute)
			forgetDates(src)
		})
		s.serve()
		s.pass(41 * time.Minute)
		if n := len(s.triggers()); n < 3 || s.said("level=ERROR") != 1 {
			t.Errorf("%d ticks, %d alarms:\n%s", n, s.said("level=ERROR"), s.log.String())
		}
		s.close()
	})
}
