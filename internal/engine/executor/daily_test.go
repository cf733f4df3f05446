package executor

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// startDaily serves five days of 40 works, one day a request.
func startDaily(t *testing.T, settings ...string) *formWorld {
	t.Helper()
	return startLyingDaily(t, upsim.Lies{}, settings...)
}

func startLyingDaily(t *testing.T, lies upsim.Lies, settings ...string) *formWorld {
	t.Helper()
	data := upsim.NewDataset(upsim.Config{Seed: 3, From: dayFrom, To: dayFrom.AddDate(0, 0, 5), PerDay: 40, Flat: true})
	w := &formWorld{form: simulated.Daily()}
	w.form.Options.Forms.Lies = lies
	w.T, w.data, w.clock, w.wire = t, data, &clock{began: time.Now()}, &wire{lose: map[string]int{}}
	w.server, w.compiled = w.form.Start(t, data, "", append(simulated.DailySettings(), settings...)...)
	w.chain = transport.StackSigned(httpclient.New(httpclient.Options{}), secrets.Limited{}, rategate.New())
	w.openCopy()
	return w
}

// read harvests a window to its end.
func (w *formWorld) read(from, to time.Time) {
	w.Helper()
	_, _, err := planner.New(w.store).Plan(w.Context(), w.compiled, planner.Request{
		Now: w.clock.read(), From: &from, To: &to, TriggerKey: "test", Scheduler: "TEST", Type: ingest.TriggerManual,
	})
	w.must(err)
	w.work()
}

// unread are works of a window that are not stored.
func (w *formWorld) unread(within window.Window) (out []string) {
	w.Helper()
	records, err := w.store.Records(w.Context(), w.compiled.Snapshot.Source, simulated.Endpoint, nil, 10_000)
	w.must(err)
	stored := map[string]bool{}
	for _, r := range records {
		stored[r.ID] = true
	}
	for truth := range w.data.Heads() {
		if within.Contains(truth.Indexed) && !stored[truth.DOI] {
			out = append(out, truth.DOI)
		}
	}
	return out
}

// I2: a request that names one day serves slices of one day, however they come
// about: ends within a day, a rest that is too short for a slice of its own,
// slices that would be joined because they hold little.
func TestBelieve05OneDayPerRequest(t *testing.T) {
	long := dayFrom.AddDate(0, 0, 5)
	for name, c := range map[string]struct {
		from, to time.Time
		settings []string
	}{
		"whole days":                {dayFrom, long, nil},
		"shorter steps":             {dayFrom, long, []string{"slicing.step=PT7H"}},
		"ragged ends":               {dayFrom.Add(10 * time.Hour), long.Add(-7 * time.Hour), nil},
		"a rest behind midnight":    {dayFrom.Add(time.Hour), dayFrom.AddDate(0, 0, 3).Add(30 * time.Minute), []string{"window.minWindow=PT1H"}},
		"days that hold too little": {dayFrom, long, []string{"slicing.perDay=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := startDaily(t, c.settings...)
			w.read(c.from, c.to)
			cursors, err := w.store.Cursors(t.Context(), w.compiled.Snapshot.Source)
			w.must(err)
			if !cursors[0].Instant.Equal(c.to) {
				t.Errorf("the cursor is at %s\n  %s", cursors[0].Instant, w.story())
			}
			if gone := w.unread(window.Window{From: c.from, To: c.to}); len(gone) > 0 {
				t.Errorf("%d works are missing, and the window counts as read\n  %s", len(gone), w.story())
			}
			w.checked()
		})
	}
}

// A slice that was cut before anybody looked at this is not read: the request
// would ask for its first day and cover the others unread.
func TestBelieve05SliceOfSeveralDays(t *testing.T) {
	w := startDaily(t)
	program, err := w.compiled.Snapshot.Program()
	w.must(err)
	three := window.Window{From: dayFrom, To: dayFrom.AddDate(0, 0, 3)}
	_, err = program.Ask(three, w.clock.read())
	if err == nil || !strings.Contains(err.Error(), "DAY") || !strings.Contains(err.Error(), "filter.bounds") {
		t.Errorf("asked for three days by naming one: %v", err)
	}
	if _, err = program.Ask(window.Window{From: dayFrom, To: dayTo}, w.clock.read()); err != nil {
		t.Error(err)
	}
}

// I2: which items are of a day is for the upstream to say. What it serves for a day
// comes with no other one, so it is kept, whatever its stamp says.
func TestBelieve05WhatADayHoldsIsKept(t *testing.T) {
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			w := startLyingDaily(t, upsim.Lies{FilterOff: off})
			w.read(dayFrom.AddDate(0, 0, -1), dayFrom.AddDate(0, 0, 6))
			if gone := w.unread(window.Window{From: dayFrom, To: dayFrom.AddDate(0, 0, 5)}); len(gone) > 0 {
				t.Errorf("%d of 200 works are missing, and the window counts as read\n  %s", len(gone), w.story())
			}
			if sum := w.total(); sum.Outside != 0 || (sum.OutsideKept > 0) != (off != 0) || !sum.Balanced() {
				t.Errorf("%+v", sum.BatchStats)
			}
			w.checked()
		})
	}
}
