package slicing

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Every parent is asked for within a sweep of where plans end, whatever their instants are, however long nothing was planned, and
// whichever fail. And what is asked for of it begins no later than where it was asked for last: nothing lies between.
func TestEveryParentIsSweptInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var key record.Key
		binary.BigEndian.PutUint64(key[:8], rapid.Uint64().Draw(t, "key"))
		sweep := time.Duration(rapid.Int64Range(int64(time.Hour), int64(366*24*time.Hour)).Draw(t, "sweep")).Truncate(time.Microsecond)
		lookback := time.Duration(rapid.Int64Range(0, int64(sweep)).Draw(t, "lookback"))
		begin := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.Int64Range(0, int64(sweep)).Draw(t, "begin")).Truncate(time.Microsecond))
		changed := begin.Add(-time.Hour)
		readTo, asked := begin, begin // the first plan asked for all
		for range rapid.IntRange(1, 30).Draw(t, "plans") {
			pause := time.Duration(rapid.Int64Range(0, int64(sweep)*rapid.Int64Range(1, 40).Draw(t, "long")/20).Draw(t, "pause")).Truncate(time.Microsecond)
			to := readTo.Add(pause)
			p := Picked{After: changed, Turns: window.Window{From: readTo, To: to}, Sweep: duration.Duration(sweep), Lookback: duration.Duration(lookback)}
			if rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
				continue // the next one takes its turns
			}
			o := Opening{To: to, Picked: &p}
			if why := p.Choose(key, changed); why == ByTurn {
				reach := o.Reach(window.Window{From: readTo, To: to}, key)
				if reach.From.After(asked.Add(-lookback)) || !reach.To.Equal(to) || reach.From.Before(readTo.Add(-sweep-lookback)) {
					t.Fatalf("%s is asked for, and it was read up to %s; a sweep of %s, a lookback of %s", reach, asked, sweep, lookback)
				}
				asked = to
			} else if why != NotPicked {
				t.Fatalf("it is asked for because of %d", why)
			} else if p.Choose(key, changed.Add(time.Microsecond)) != ByChange {
				t.Fatal("a change is overlooked")
			} else if reach := o.Reach(window.Window{From: readTo, To: to}, key); reach.From.After(asked) {
				t.Fatalf("a parent that changed is asked for %s, and it was read up to %s", reach, asked)
			}
			readTo = to
			if readTo.Sub(asked) >= sweep {
				t.Fatalf("lists are read up to %s, and the parent was asked for up to %s; a sweep of %s", readTo, asked, sweep)
			}
		}
	})
}

// A plan asks for what was declared to begin no earlier than that.
func TestAReachEndsWhereTheListBegins(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 3, n, 0, 0, 0, 0, time.UTC) }
	o := Opening{To: day(9), Picked: &Picked{Turns: window.Window{From: day(8), To: day(9)}, Sweep: duration.Duration(30 * 24 * time.Hour), From: day(5)}}
	if got := o.Reach(window.Window{From: day(8), To: day(9)}, record.Key{1}); got != (window.Window{From: day(5), To: day(9)}) {
		t.Error(got)
	}
}

// A slice asks for picked parents only where that is enough; whoever owes something there is asked for too.
func TestPicksForgetNobodyWhoOwes(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2025, 3, n, 0, 0, 0, 0, time.UTC) }
	w := func(from, to int) window.Window { return window.Window{From: day(from), To: day(to)} }
	id := "17"
	key := record.KeyOf(id)
	runOf := func(of int) (in, out sector.Run) {
		for no := range of {
			if run := (sector.Run{No: no, Of: of}); run.Holds(key) {
				in = run
			} else {
				out = run
			}
		}
		return in, out
	}
	in, out := runOf(4)
	cut := func(run sector.Run, at window.Window, few int) Slice {
		return Slice{Window: at, Spec: Spec{Sector: map[string]string{"repo": run.String(), "state": "open"}, Few: few}}
	}
	name := func(value, state string) string {
		return sector.NameOf(map[string]string{"repo": value, "state": state})
	}
	for what, c := range map[string]struct {
		lags   []Owing
		cut    Slice
		picks  bool
		behind bool
		owes   bool
	}{
		"nobody owes anything":        {nil, cut(in, w(3, 4), 0), true, false, false},
		"in time that was not read":   {nil, cut(in, w(1, 2), 0), false, false, false},
		"half of it was not read":     {nil, cut(in, w(1, 4), 0), false, false, false},
		"for a few that owe it":       {nil, cut(in, w(3, 4), 1), false, false, false},
		"one parent owes it":          {[]Owing{{name(id, "open"), w(3, 4)}}, cut(in, w(3, 4), 0), true, true, false},
		"of another run":              {[]Owing{{name(id, "open"), w(3, 4)}}, cut(out, w(3, 4), 0), true, false, false},
		"of another state":            {[]Owing{{name(id, "closed"), w(3, 4)}}, cut(in, w(3, 4), 0), true, false, false},
		"a run owes it":               {[]Owing{{name(in.String(), "open"), w(3, 4)}}, cut(in, w(3, 4), 0), false, false, false},
		"a run of another division":   {[]Owing{{name("~0/1", "open"), w(3, 4)}}, cut(in, w(3, 4), 0), false, false, false},
		"a run owes what lies before": {[]Owing{{name(in.String(), "open"), w(2, 3)}}, cut(in, w(3, 4), 0), true, false, true},
		"a parent does":               {[]Owing{{name(id, "open"), w(2, 3)}}, cut(in, w(3, 4), 0), true, true, false},
	} {
		t.Run(what, func(t *testing.T) {
			choice := &Choice{Picked: Picked{After: day(2), Turns: window.Window{From: day(4), To: day(4)}, Sweep: duration.Duration(24 * time.Hour)}, Within: []window.Window{w(2, 9)}, Lags: c.lags}
			got := MarkPicks([]Slice{c.cut}, choice)[0].Spec.Picks
			if (got != nil) != c.picks {
				t.Fatalf("%+v", got)
			}
			if got == nil {
				return
			}
			if behind := slices.Contains(got.Behind, hex.EncodeToString(key[:])); behind != c.behind || (got.Choose(key, day(1)) == ByLag) != c.behind || got.Owes != c.owes {
				t.Errorf("%+v, %v", got, got.Choose(key, day(1)))
			}
		})
	}
	if got := MarkPicks([]Slice{cut(in, w(3, 4), 0)}, nil)[0]; got.Spec.Picks != nil {
		t.Error(fmt.Sprint(got))
	}
}

// What a parent brings in its turn was not announced, unless it changed or owed something.
func TestWhatWasNotAnnounced(t *testing.T) {
	key, from := record.KeyOf("17"), time.Date(2025, 3, 8, 0, 0, 0, 0, time.UTC)
	turn := Picked{After: from, Turns: window.Window{From: from, To: from.Add(24 * time.Hour)}, Sweep: duration.Duration(24 * time.Hour)}
	behind, owes, none := turn, turn, turn
	behind.Behind, owes.Owes, none.Turns.To = []string{hex.EncodeToString(key[:])}, true, from
	for what, c := range map[string]struct {
		of      *Picked
		changed time.Time
		want    time.Time
	}{
		"in its turn": {&turn, from, from}, "changed": {&turn, from.Add(1), time.Time{}}, "owes something": {&behind, from, time.Time{}},
		"some owe something": {&owes, from, time.Time{}}, "not its turn": {&none, from, time.Time{}}, "all are asked for": {nil, from, time.Time{}},
	} {
		if got := c.of.Unannounced(key, c.changed); !got.Equal(c.want) {
			t.Errorf("%s: %s", what, got)
		}
	}
}
