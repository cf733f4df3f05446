package coverage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/window"
)

// A simulation that never complains proves nothing. Here it runs with faulty rules, each a mistake that real harvesters
// make, and must complain about every one of them, and for the reason it was planted for.

// listener takes the first complaint in place of a test.
type listener struct {
	rapid.TB
	complaint string
}

type complained struct{}

func (l *listener) Helper() {}

func (l *listener) Fatal(args ...any) { l.Fatalf("%s", fmt.Sprint(args...)) }

func (l *listener) Fatalf(format string, args ...any) {
	l.complaint = fmt.Sprintf(format, args...)
	panic(complained{})
}

// complaint lives one life under the rules and tells what was found, if anything was. The ledger is folded again
// before the repair: a value that a later event overwrites was wrong all the same.
func complaint(seed uint64, r rules) (found string) {
	l := &listener{}
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(complained); !ok {
				panic(p)
			}
			found = l.complaint
		}
	}()
	w := newWorld(l, seed, true)
	w.rules = r
	w.troubledPhase()
	w.checkRefold()
	w.recover()
	return ""
}

// largestSeen is the rule the specification began with: the cursor follows the newest thing that was read.
func largestSeen(s coverage.State, e coverage.Event) coverage.State {
	s = coverage.Fold(s, e)
	for _, seg := range s.Segments {
		if !seg.Have.IsZero() && seg.Window.To.After(s.Cursor) {
			s.Cursor = seg.Window.To
		}
	}
	return s
}

// aheadOnly leaves out what a plan reads again for late arrivals: its failure holds nothing up.
func aheadOnly(s coverage.State, owed []window.Window) (ahead []window.Window) {
	for _, w := range owed {
		if s.Cursor.IsZero() {
			return owed
		}
		if _, after := w.Split(s.Cursor); !after.Empty() {
			ahead = append(ahead, after)
		}
	}
	return ahead
}

func TestPlantedBugsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		plant  func(*rules)
		reason string
	}{
		"cursor is the largest value seen": {func(r *rules) { r.fold = largestSeen }, "the cursor moved"},
		"lookback slices do not gate":      {func(r *rules) { r.wants = aheadOnly }, "the cursor moved"},
		"lookback is counted from a stalled cursor": {func(r *rules) {
			r.owes = func(coverage.State, time.Duration) (time.Time, bool) { return time.Time{}, false }
		}, ""},
		"an event is written without its value": {func(r *rules) { r.torn = true }, "refold"},
		"a slice resumes by page number":        {func(r *rules) { r.resume = func(pages int) int { return pages } }, "stored version"},
		"a backfill writes the harvest's cursor": {func(r *rules) {
			r.target = func(operation string) string { return "HARVEST" }
		}, "changed the book of HARVEST"},
	} {
		t.Run(name, func(t *testing.T) {
			r := soundRules()
			c.plant(&r)
			found, lives := 0, uint64(150)
			for seed := range lives {
				if text := complaint(seed, r); text != "" && strings.Contains(text, c.reason) {
					found++
				}
			}
			if found == 0 {
				t.Fatalf("%d lives, and nobody noticed", lives)
			}
			t.Logf("noticed in %d of %d lives", found, lives)
		})
	}
}
