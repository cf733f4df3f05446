package refresh

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/window"
)

const day = 24 * time.Hour

// looked is a library that is updated: when each record was looked at last, and
// how often in all.
type looked struct {
	key   [16]byte
	last  time.Time
	looks []time.Time
}

// Daily updates look at every record within N days, and at most once in a cycle,
// whatever fails in between and is done later. The rota is held against nothing
// but its promise.
func TestTheRotaKeepsItsPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.IntRange(1, 12).Draw(t, "days")
		cycle := time.Duration(days) * day
		records := make([]*looked, rapid.IntRange(1, 30).Draw(t, "records"))
		for i := range records {
			records[i] = &looked{key: someKey(t), last: t0.Add(-day)}
		}
		smooth := rapid.Bool().Draw(t, "nothing fails")
		var done []window.Window
		cursor := (*time.Time)(nil)
		now := t0
		for run := range 3 * days {
			if run > 0 {
				now = now.Add(day)
			}
			if !smooth && rapid.IntRange(0, 3).Draw(t, "nobody runs it") == 0 {
				continue
			}
			total, err := Rota(RotaInputs{Now: now, Cycle: cycle, Cursor: cursor, Done: done})
			if err != nil || total.Empty {
				t.Fatalf("%+v, %v", total, err)
			}
			if cursor == nil {
				from := total.Window.From
				cursor = &from
			}
			for _, w := range total.Owed {
				if !smooth && rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
					continue
				}
				for _, share := range Shares(w, cycle) {
					for _, r := range records {
						if holds(share, r.key) && r.last.Before(share.Before) {
							r.last, r.looks = now, append(r.looks, now)
						}
					}
				}
				done = append(done, w)
			}
			owed := window.Subtract(window.Window{From: *cursor, To: now}, done)
			reached := now
			if len(owed) > 0 {
				reached = owed[0].From
			}
			cursor = &reached
			if smooth && run >= days {
				for _, r := range records {
					if now.Sub(r.last) >= cycle {
						t.Fatalf("a record was last looked at %s ago, in a cycle of %s", now.Sub(r.last), cycle)
					}
				}
			}
		}
		for _, r := range records {
			turns := 0
			for at := t0.Add(-day); ; turns++ {
				turn := Turn(r.key, cycle, at)
				if !turn.Before(now) {
					break
				}
				at = turn.Add(time.Microsecond)
			}
			if len(r.looks) > turns {
				t.Fatalf("%d looks at a record that had %d turns: %v", len(r.looks), turns, r.looks)
			}
			if smooth && len(r.looks) != turns {
				t.Fatalf("%d looks in %d turns", len(r.looks), turns)
			}
		}
	})
}

func TestFirstRota(t *testing.T) {
	total, err := Rota(RotaInputs{Now: t0, Cycle: 30 * day})
	if err != nil || total.Empty || total.Window != (window.Window{From: t0.Add(-day), To: t0}) || !total.NowSafe.Equal(t0) || len(total.Owed) != 1 {
		t.Errorf("%+v, %v", total, err)
	}
	short, err := Rota(RotaInputs{Now: t0, Cycle: 2 * time.Hour})
	if err != nil || short.Window.Duration() != 2*time.Hour {
		t.Errorf("%+v, %v", short, err)
	}
	if again, err := Rota(RotaInputs{Now: t0, Cycle: 30 * day, Cursor: &t0}); err != nil || !again.Empty || again.Reason == "" {
		t.Errorf("%+v, %v", again, err)
	}
	waits := window.Window{From: t0.Add(-day), To: t0}
	if all, err := Rota(RotaInputs{Now: t0, Cycle: 30 * day, Waiting: []window.Window{waits}}); err != nil || len(all.Owed) != 0 || all.Reason == "" || len(all.Waiting) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	for _, bad := range []time.Duration{0, time.Minute, 11 * 366 * day} {
		if _, err := Rota(RotaInputs{Now: t0, Cycle: bad}); err == nil {
			t.Errorf("a cycle of %s is accepted", bad)
		}
	}
}

func TestBelievable(t *testing.T) {
	for _, c := range []struct {
		missing, asked int
		share          float64
		want           bool
	}{
		{0, 0, 0.1, true}, {3, 3, 0.1, true}, {10, 10, 0, true}, {11, 11, 0.1, false}, {11, 110, 0.1, true}, {11, 109, 0.1, false},
		{500, 1000, 1, true}, {1000, 1000, 0.99, false},
	} {
		if got := Believable(c.missing, c.asked, c.share); got != c.want {
			t.Errorf("%d of %d at %g: %v", c.missing, c.asked, c.share, got)
		}
	}
}

func TestParseKind(t *testing.T) {
	if k, err := ParseKind("missing_field"); err != nil || k != MissingField {
		t.Error(k, err)
	}
	for _, bad := range []string{"", "REQUESTED", "nonsense"} {
		if _, err := ParseKind(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
