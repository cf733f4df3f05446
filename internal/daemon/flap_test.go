package daemon

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// A day has room for all troubles: those of a source one after the other, and beside them those
// of the machine and of the database.
const (
	wholeDay = 24 * time.Hour
	// troubleLasts is how long a trouble lasts once it is found.
	troubleLasts = 15 * time.Minute
)

// timed is a trouble with its time of the day.
type timed struct {
	trouble
	begins, ends time.Duration
	looks        int
}

// timetable gives each trouble its time. Those that take long begin soon after a tick, so that
// ticks come to all of them at the same point. Their order is that of the list.
func timetable(all []trouble) (out []timed) {
	next := map[bool]time.Duration{true: lookEach, false: lookEach}
	for _, one := range all {
		begins := next[one.beside]
		lasts := one.after + cmp.Or(one.stays, troubleLasts)
		if since := begins % tickEach; since > lookEach && since+lasts+lookEach > tickEach {
			begins += tickEach - since + lookEach
		}
		out = append(out, timed{trouble: one, begins: begins, ends: begins + lasts})
		next[one.beside] = begins + lasts + max(one.calm, lookEach) + lookEach
	}
	return out
}

// story is what became of one cause over the day.
type story struct {
	opened, resolved int
	open             bool
}

// In a day in which all troubles come, go up and down, and end, each cause is told once and is over
// once: a finding that flaps wakes people for nothing.
func TestNoFindingFlaps(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		told := w.live(timetable(troubles()))
		for _, code := range view.FindingCodes() {
			if !told[code] {
				t.Errorf("%s was not told in the day", code)
			}
		}
	})
}

// live passes a day, refuses what flapped or is not over, and returns what was told.
func (w *world) live(all []timed) map[view.FindingCode]bool {
	w.Helper()
	stories, told := map[string]*story{}, map[view.FindingCode]bool{}
	start := w.now.Truncate(tickEach)
	for ; w.now.Before(start.Add(wholeDay)); w.pass(lookEach) {
		for i := range all {
			all[i].happen(w, w.now.Sub(start))
		}
		w.note(stories, told)
	}
	for _, one := range all {
		if one.ends >= wholeDay {
			w.Errorf("%s has no time in a day", one.code)
		}
	}
	for cause, s := range stories {
		if s.opened != 1 || s.resolved != 1 {
			w.Errorf("%s: opened %d times, over %d times", cause, s.opened, s.resolved)
		}
	}
	return told
}

// happen brings a trouble about when its time comes, lets it go up and down, and ends it.
func (o *timed) happen(w *world, at time.Duration) {
	switch {
	case at == o.begins:
		o.bring(w)
	case at == o.ends:
		o.mend(w)
	case o.begins < at && at < o.ends && o.lasts != nil:
		o.lasts(w, o.looks)
		o.looks++
	}
}

// note looks, and keeps what began and what is over since the look before.
func (w *world) note(stories map[string]*story, told map[view.FindingCode]bool) {
	w.Helper()
	open := map[string]bool{}
	for _, f := range w.look() {
		cause := fmt.Sprintf("%s %+v", f.Code, f.Subject)
		open[cause], told[f.Code] = true, true
		if stories[cause] == nil {
			stories[cause] = &story{}
		}
	}
	for cause, s := range stories {
		switch {
		case open[cause] && !s.open:
			s.opened++
			w.Logf("%s opens  %s", w.now.Format("15:04"), cause)
		case !open[cause] && s.open:
			s.resolved++
			w.Logf("%s ends   %s", w.now.Format("15:04"), cause)
		}
		s.open = open[cause]
	}
}
