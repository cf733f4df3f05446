package executor

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

var bySignal = refresh.Spec{Policy: refresh.BySignal}

// overlook lets the detail endpoint lack ids, in silence.
func (l *library) overlook(ids ...string) {
	lacks := map[string]bool{}
	for _, id := range ids {
		lacks[id] = true
	}
	l.list.fetch = func(_ *list, _ *http.Request, asked []thing) any {
		items := []thing{}
		for _, one := range asked {
			if !lacks[one.ID] {
				items = append(items, one)
			}
		}
		return map[string]any{"items": items}
	}
}

// everyTwentieth are 20 ids of 400.
func everyTwentieth() (ids []string) {
	for i := range 20 {
		ids = append(ids, fmt.Sprintf("t%03d", 20*i+7))
	}
	return ids
}

// An endpoint that lacks records for one run deletes nothing: they stay as they are,
// and once they come again nothing is left of it.
func TestBelieve06APassingGapBuriesNobody(t *testing.T) {
	for _, batch := range []int{10, 1} {
		t.Run(fmt.Sprint("batches of ", batch), func(t *testing.T) {
			l := newLibrary(t, things(400))
			l.harvestAll(declared{batch: batch})
			l.clock.advance(11 * 24 * time.Hour)
			l.overlook(everyTwentieth()...)
			c := l.compile(ingest.Update, declared{batch: batch})
			l.update(c, byAge) // one day of ten
			l.clock.advance(9 * 24 * time.Hour)
			l.update(c, byAge) // the others
			l.overlook()
			for range 2 {
				l.clock.advance(10 * 24 * time.Hour)
				l.update(c, byAge)
			}
			for id, r := range l.records() {
				if r.State != "ACTIVE" || r.Version != 1 {
					t.Errorf("%s is %s, version %d", id, r.State, r.Version)
				}
			}
			if counts, err := l.store.Counts(t.Context(), "hand"); err != nil || counts.Outbox != 400 {
				t.Errorf("%+v, %v", counts, err)
			}
			l.isolated()
		})
	}
}

// open are the signals that wait for an update, as kind and id.
func (l *library) open() (out []string) {
	l.Helper()
	signals, err := l.store.Signals(l.Context(), view.Filter{Limit: 1000, Status: "OPEN"})
	l.must(err)
	for _, s := range signals {
		out = append(out, s.Kind+" "+s.ProviderID)
	}
	slices.Sort(out)
	return out
}

// is expects the state and version of a record.
func (l *library) is(id, state string, version int) view.Record {
	l.Helper()
	r := l.records()[id]
	if r.State != state || r.Version != version {
		l.Errorf("%s is %q, version %d; want %s, version %d", id, r.State, r.Version, state, version)
	}
	return r
}

// A record that was missed is looked at again by itself a day later, and no earlier;
// only then it is gone. A sighting in between ends it all.
func TestBelieve06OnlyASecondMissADayLaterBuries(t *testing.T) {
	l := newLibrary(t, things(30))
	l.harvestAll(declared{})
	c := l.compile(ingest.Update, declared{})
	l.overlook("t003", "t017")
	l.signal(refresh.Retraction, "t003", "t004")
	l.update(c, bySignal)
	since := l.is("t003", "ACTIVE", 1).MissingSince
	if since.IsZero() || fmt.Sprint(l.open()) != "[MISSING t003 RETRACTION t003]" {
		t.Errorf("missing since %s, signals %v", since, l.open())
	}
	if d := l.update(c, bySignal); !d.Empty {
		t.Error("it is looked at again before a second miss counts")
	}
	l.signal(refresh.Merge, "t003") // whoever names it anew is heard, and it changes nothing
	l.update(c, bySignal)
	if r := l.is("t003", "ACTIVE", 1); !r.MissingSince.Equal(since) || l.total().Missed.Missing != 1 {
		t.Errorf("missing since %s, then %s; %s", since, r.MissingSince, l.story())
	}
	// It comes, and goes again: counting starts anew.
	l.overlook()
	l.clock.advance(24 * time.Hour)
	l.update(c, bySignal)
	if r := l.is("t003", "ACTIVE", 1); !r.MissingSince.IsZero() || len(l.open()) != 0 {
		t.Errorf("still missing since %s, signals %v", r.MissingSince, l.open())
	}
	l.overlook("t003")
	l.signal(refresh.Retraction, "t003")
	l.update(c, bySignal)
	l.is("t003", "ACTIVE", 1)
	l.clock.advance(24 * time.Hour)
	l.update(c, bySignal)
	if r := l.is("t003", "GONE", 2); r.MissingSince.IsZero() || len(l.open()) != 0 {
		t.Errorf("%+v, signals %v", r, l.open())
	}
	l.isolated()
}

// readAgain reads the day once more, as a harvest with a lookback does.
func (l *library) readAgain(d declared) {
	l.Helper()
	l.plan(l.compile(ingest.Backfill, d), planner.Request{From: &dayFrom, To: &dayTo, Campaign: fmt.Sprint("campaign ", l.claimed)})
	l.work(ingest.Backfill)
}

// A harvest that sees a missing record ends that in silence, and one that sees a
// buried record brings it back, with an event.
func TestBelieve06AHarvestBringsRecordsBack(t *testing.T) {
	l := newLibrary(t, things(30))
	l.harvestAll(declared{})
	c := l.compile(ingest.Update, declared{})
	miss := func() {
		l.overlook("t003")
		l.signal(refresh.Retraction, "t003")
		l.update(c, bySignal)
		l.overlook()
	}
	again := func() { l.readAgain(declared{}) }
	miss()
	again()
	if r := l.is("t003", "ACTIVE", 1); !r.MissingSince.IsZero() || fmt.Sprint(l.open()) != "[RETRACTION t003]" {
		t.Errorf("missing since %s, signals %v", r.MissingSince, l.open())
	}
	miss()
	l.clock.advance(24 * time.Hour)
	miss()
	l.is("t003", "GONE", 2)
	l.clock.advance(time.Hour)
	again()
	if r := l.is("t003", "ACTIVE", 3); !r.MissingSince.IsZero() {
		t.Errorf("missing since %s", r.MissingSince)
	}
	l.isolated()
}

// Tombstones have turns too, ever more rarely; one whose record is back lives again,
// and however many stay away, nobody takes that for a mass disappearance.
func TestBelieve06TombstonesAreLookedAt(t *testing.T) {
	for _, batch := range []int{10, 1} {
		t.Run(fmt.Sprint("batches of ", batch), func(t *testing.T) {
			l := newLibrary(t, things(60))
			l.harvestAll(declared{batch: batch})
			var away []string
			for _, one := range things(40) {
				away = append(away, one.ID)
			}
			all := slices.Clone(l.list.things)
			l.without(away...)
			l.signal(refresh.Retraction, away...)
			sure := l.compile(ingest.Update, declared{batch: batch, details: ", maxGone: 1"})
			l.update(sure, bySignal)
			l.clock.advance(24 * time.Hour)
			l.update(sure, bySignal)
			if n := l.total().Gone; n != 40 {
				t.Fatalf("%d are gone", n)
			}
			c := l.compile(ingest.Update, declared{batch: batch})
			l.update(c, byAge) // the first turns of all
			clear(l.asked)
			looks := func(days int) (n int) {
				for range days {
					l.clock.advance(24*time.Hour - l.clock.read().Sub(l.clock.read().Truncate(24*time.Hour)))
					l.update(c, byAge)
					for _, o := range l.outcomes {
						if o.Task != ingest.TaskSucceeded {
							t.Fatal(l.story())
						}
					}
				}
				for _, id := range away {
					n += l.asked[id]
				}
				clear(l.asked)
				return n
			}
			if n := looks(20); n < 40 || n > 60 {
				t.Errorf("40 tombstones were looked at %d times in the first 20 days", n)
			}
			if n := looks(40); n < 40 || n > 80 {
				t.Errorf("40 tombstones were looked at %d times in the next 40 days", n)
			}
			if counts, err := l.store.Counts(t.Context(), "hand"); err != nil || counts.Quarantined != 0 || counts.Gone != 40 {
				t.Errorf("%+v, %v", counts, err)
			}
			l.list.things = all
			looks(75)
			if counts, err := l.store.Counts(t.Context(), "hand"); err != nil || counts.Records != 60 {
				t.Errorf("%+v, %v", counts, err)
			}
			l.isolated()
		})
	}
}

// What an upstream says of one id by its status: 410 announces a deletion and buries
// in this run, also a record that was never stored; 404 is a miss.
func TestBelieve06AStatusOfOneID(t *testing.T) {
	for status, want := range map[int]string{http.StatusGone: "GONE", http.StatusNotFound: "ACTIVE"} {
		for _, batch := range []int{10, 1} {
			t.Run(fmt.Sprint(status, " in batches of ", batch), func(t *testing.T) {
				l := newLibrary(t, things(30))
				l.harvestAll(declared{batch: batch})
				l.list.fetch = func(_ *list, r *http.Request, asked []thing) any {
					if ids := "," + r.FormValue("ids") + ","; strings.Contains(ids, ",t003,") || strings.Contains(ids, ",never,") {
						return refusal(status)
					}
					return map[string]any{"items": asked}
				}
				l.signal(refresh.Retraction, "t003", "t004", "never")
				l.update(l.compile(ingest.Update, declared{batch: batch}), bySignal)
				if r := l.records()["t003"]; r.State != want {
					t.Errorf("%+v, %s", r, l.story())
				}
				if r := l.records()["never"]; (r.State == "GONE") != (status == http.StatusGone) {
					t.Errorf("never stored: %+v", r)
				}
				if s := l.total(); !s.Balanced() || (s.Missed.NotFound == 1) != (status == http.StatusNotFound) || s.Quarantined != 0 {
					t.Errorf("%s %+v", l.story(), s)
				}
				l.isolated()
			})
		}
	}
}

// A harvest whose search names an id that has no detail is under the same rule where
// the source says that this means a deletion.
func TestBelieve06AHarvestMissesByTheSameRule(t *testing.T) {
	l := newLibrary(t, things(30))
	l.harvestAll(declared{})
	again := func() { l.readAgain(declared{details: ", missing: GONE"}) }
	l.overlook("t003")
	again()
	l.is("t003", "ACTIVE", 1)
	if fmt.Sprint(l.open()) != "[MISSING t003]" || l.total().Missed.Missing != 1 {
		t.Errorf("%v, %s", l.open(), l.story())
	}
	l.clock.advance(24 * time.Hour)
	again()
	l.is("t003", "GONE", 2)
	if len(l.open()) != 0 {
		t.Error(l.open())
	}
	l.isolated()
}
