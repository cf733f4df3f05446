package daemon

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// The clock was ahead while a source was harvested, and was set right. To every harvest until
// that time has come the plan seems to end after it began, and to read up to now. Who joined it
// would read nothing and end well, again and again (I2).
func TestAPlanOfAClockThatWasAheadIsNotJoined(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"by less than the safety lag": 20 * time.Minute,
		"by an hour":                  time.Hour,
		"by weeks":                    30 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			onBothDatabases(t, func(t *testing.T, database string) {
				w := newWorld(t, database)
				right := w.now
				w.harvestAhead(ahead)
				w.now = right.Add(time.Minute)
				for n := range 2 {
					w.setBack(right.Add(-24 * time.Hour))
					_, err := w.data.Add("", right.Add(time.Duration(n-12)*time.Hour))
					w.must(err)
					if h := w.harvestFrom(nil); h.Joined != nil || h.Plan.Stats.Inserted != 1 {
						t.Errorf("harvest %d: joined %+v, %+v", n, h.Joined, h.Plan.Stats)
					}
				}
				w.noGaps()
			})
		})
	}
}

// A plan that was stored before a person set the watermark back may have read a part of what is
// open again. It is finished first, and not joined: that part would stay unread.
func TestAPlanFromBeforeAWatermarkWasSetBackIsNotJoined(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		w.setBack(w.now.Add(-24 * time.Hour))
		before := w.plan()
		w.setBack(w.now.Add(-23 * time.Hour))
		h := w.harvestFrom(nil)
		if h.Joined != nil || h.Plan.PlanID == before || len(h.Continued) != 1 || h.Continued[0].PlanID != before {
			t.Errorf("joined %+v, continued %+v, plan %d", h.Joined, h.Continued, h.Plan.PlanID)
		}
		w.noGaps()
	})
}

// harvestAhead harvests while the clock is ahead, and sets it right.
func (w *world) harvestAhead(by time.Duration) {
	w.Helper()
	right := w.now
	w.now = right.Add(by)
	w.harvestFrom(nil)
	w.now = right
	w.beat()
}

// readAgain does what the finding of a clock that was ahead says, and harvests.
func (w *world) readAgain() {
	w.Helper()
	for _, f := range w.look() {
		if f.Code == view.FoundAhead {
			w.setBack(f.Ahead.ReadFrom)
		}
	}
	w.fire()
}

// setBack sets the watermark of the harvest by hand.
func (w *world) setBack(to time.Time) {
	w.Helper()
	_, err := w.app.Cursors.Set(w.Context(), w.cursor(), to, byAnn)
	w.must(err)
}
