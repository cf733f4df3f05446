package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/upsim"
)

// brokenDay is an upstream that refuses one day for good until it is mended.
type brokenDay struct {
	*world
	mended  atomic.Bool
	refused atomic.Int32
}

const badDay = "2025-03-06"

// byDay asks as Crossref was asked before it took seconds: a day is one slice.
var byDay = []string{"slicing.minStep=P1D", "filter.precision=DAY", "filter.format=yyyy-MM-dd"}

func newBrokenDay(t *testing.T, database string, settings ...string) *brokenDay {
	t.Helper()
	b := &brokenDay{world: newWorld(t, database, upsim.Config{Seed: 77, PerDay: 30, Flat: true}, upsim.Options{})}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.mended.Load() && slices.Contains(daysOf(r.FormValue("filter")), badDay) {
			b.refused.Add(1)
			http.Error(w, "this day is broken", http.StatusInternalServerError)
			return
		}
		b.server.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	for i, s := range b.settings {
		if strings.HasPrefix(s, "http.baseUrl=") {
			b.settings[i] = "http.baseUrl=" + front.URL
		}
	}
	b.settings = append(b.settings, "retry.maxAttempts=2", "retry.taskAttempts=2", "window.lookback=P1D", "window.minWindow=PT1M", "slicing.step=P1D")
	b.settings = append(b.settings, settings...)
	return b
}

// daysOf are the first and the last day that a filter selects.
func daysOf(filter string) (days []string) {
	for part := range strings.SplitSeq(filter, ",") {
		for _, name := range []string{"from-index-date:", "until-index-date:"} {
			if day, ok := strings.CutPrefix(part, name); ok {
				days = append(days, day[:min(len(day), len("2006-01-02"))])
			}
		}
	}
	return days
}

// asked are the days the upstream was asked for after so many requests, by its log.
func (b *brokenDay) asked(after int) (days []string) {
	for _, entry := range b.server.Log() {
		if entry.N > after {
			days = append(days, daysOf(entry.Query.Get("filter"))...)
		}
	}
	slices.Sort(days)
	return slices.Compact(days)
}

// finds runs a command that has findings and names the broken day.
func (b *brokenDay) finds(args ...string) string {
	b.t.Helper()
	code, out, errText := b.patra(args...)
	if code != 9 || !strings.Contains(out, "[2025-03-06, 2025-03-07)") {
		b.t.Errorf("patra %s: exit %d\n%s%s", strings.Join(args, " "), code, out, errText)
	}
	return out
}

// findsNothingElse expects that a harvest of a time that has not come is all that is wrong.
func (b *brokenDay) findsNothingElse() {
	b.t.Helper()
	code, out, errText := b.patra("status", "crossref", "-o", "json")
	var report struct{ Findings []struct{ Code string } }
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 9 || len(report.Findings) != 1 || report.Findings[0].Code != "WATERMARK_AHEAD" {
		b.t.Errorf("exit %d, %v\n%s%s", code, err, out, errText)
	}
}

// beside runs a backfill and an update, each a process of its own, at once.
func (b *brokenDay) beside() {
	b.t.Helper()
	var all sync.WaitGroup
	for _, args := range [][]string{
		{"backfill", "crossref", "--from", "2025-03-03", "--to", "2025-03-04", "--name", "before"},
		{"update", "crossref", "--from", "2025-03-04", "--to", "2025-03-05"},
	} {
		args = append(args, "-q", "-o", "json")
		for _, s := range b.settings {
			args = append(args, "--set", s)
		}
		cmd, output := b.child(args...)
		all.Go(func() {
			if err := cmd.Wait(); err != nil {
				b.t.Errorf("patra %s: %v: %s", args[0], err, output)
			}
		})
	}
	all.Wait()
}

// What a user fears most: one day cannot be read. Everything says so until the
// upstream is mended; the next harvest reads that day and the lookback, nothing
// else. A backfill and an update beside it leave the harvest's watermark alone
// (I2, I5, I6).
func TestBrokenDayIsNeverSilent(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		b := newBrokenDay(t, database, byDay...)
		first := b.harvest(3, "--from", "2025-03-04")
		if first.Slices["FAILED"] != 1 || first.Slices["SUCCEEDED"] != 4 || first.Cursor != "2025-03-06T00:00:00Z" || b.refused.Load() == 0 {
			t.Fatalf("%+v after %d refusals", first, b.refused.Load())
		}
		// The day waits for its retry: a harvest that does not try it is no success either.
		refused := b.refused.Load()
		if again := b.harvest(3, "--from", "2025-03-04"); again.Slices["FAILED"] != 0 || again.Cursor != first.Cursor || b.refused.Load() != refused {
			t.Errorf("while the day waits: %+v", again)
		}
		b.finds("status")
		b.finds("status", "crossref")
		b.finds("coverage", "gaps", "crossref")
		strip := b.must("coverage", "show", "crossref", "--from", "2025-03-04", "--to", "2025-03-08", "--by", "day")
		if !strings.Contains(strip, "██✗█") {
			t.Errorf("coverage show:\n%s", strip)
		}
		b.must("cursor", "verify")

		before, asked := b.cursorsOf(ingest.Harvest), b.server.Requests()
		b.beside()
		if after := b.cursorsOf(ingest.Harvest); len(before) != 1 || !reflect.DeepEqual(after, before) {
			t.Errorf("the harvest's cursor was %+v and is %+v", before, after)
		}
		if got := b.asked(asked); !slices.Equal(got, []string{"2025-03-03", "2025-03-04"}) {
			t.Errorf("a backfill and an update of one day each asked for %v", got)
		}
		b.finds("status", "crossref")
		b.finds("coverage", "gaps", "crossref")

		b.mended.Store(true)
		asked = b.server.Requests()
		if h := b.harvestLater(48 * time.Hour); h.Plan.Stats.Inserted != 30 {
			t.Errorf("the next harvest: %+v, want the 30 works of the day", h.Plan.Stats)
		}
		// As of 2025-03-08 10:00 a lookback of one day begins on the 7th.
		if got := b.asked(asked); !slices.Equal(got, []string{badDay, "2025-03-07", "2025-03-08"}) {
			t.Errorf("asked for %v, want the day and the lookback only", got)
		}
		if out := b.must("coverage", "gaps", "crossref", "-o", "json"); !isEmptyList(out) {
			t.Errorf("gaps: %s", out)
		}
		b.findsNothingElse()
		b.verify()
	})
}

// Where a day can be cut by the second, it is cut to find the page that fails, and given
// up once nothing of it is answered. The others are answered all the while, so the
// circuit stays closed: the harvest does not wait for an upstream that is there.
func TestTrust12ABrokenDayIsCutAndDoesNotOpenTheCircuit(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		b := newBrokenDay(t, database)
		first := b.harvest(3)
		if first.Slices["FAILED"] == 0 || first.Slices["SUCCEEDED"] != 5 || first.Cursor != "2025-03-06T00:00:00Z" {
			t.Errorf("%+v after %d refusals", first, b.refused.Load())
		}
		if n := b.refused.Load(); n > 100 {
			t.Errorf("%d requests for a day that is not served", n)
		}
		db, err := check.Open(b.database)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var opened int
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM ing_health_count WHERE action_code = 'OPEN_CIRCUIT'").Scan(&opened); err != nil || opened > 0 {
			t.Errorf("the circuit was opened %d times, %v", opened, err)
		}
		code, gaps, _ := b.patra("coverage", "gaps", "crossref")
		if code != 9 || !strings.Contains(gaps, "[2025-03-06, ") || !strings.Contains(gaps, ", 2025-03-07)") || strings.Contains(gaps, "[2025-03-07") {
			t.Errorf("gaps: exit %d\n%s", code, gaps)
		}
		b.mended.Store(true)
		b.harvestLater(48 * time.Hour)
		b.findsNothingElse()
		b.verify()
	})
}
