package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// setsRefused says by which answer one set is refused.
var setsRefused = strings.Replace(sectorSource, "[%s]}}", "[%s], refusedStatus: [403]}}", 1)

// forgeRefused says so of repositories.
var forgeRefused = refusing(forgeSource)

// refusing lets a source know how the forge refuses single repositories.
func refusing(file string) string {
	return strings.Replace(file, "}}}\n    request: {path: \"/${partition.repo.name}", "}, refusedStatus: [451], maxRefused: 0.5}}\n    request: {path: \"/${partition.repo.name}", 1)
}

// recheckNow lets the time of all refused partitions come.
func recheckNow(t *testing.T, database string) {
	t.Helper()
	db := openBeside(t, database)
	if _, err := db.ExecContext(t.Context(), "UPDATE ing_sector_refusal SET recheck_at = 0"); err != nil {
		t.Fatal(err)
	}
}

// refuses reports whether the source says how the forge refuses single repositories.
func (m *forgeModel) refuses() bool { return strings.Contains(m.file, "refusedStatus") }

func (m *forgeModel) recheckNow() { recheckNow(m.T, m.database) }

func (w *sectorWorld) compileFile(file, values string) (*registry.Source, *spec.Compiled) {
	w.Helper()
	src, _, err := registry.Decode("sets.yaml", fmt.Appendf(nil, file, w.url, values))
	if err != nil {
		w.Fatal(err)
	}
	c, err := Compile(src, "", ingest.Harvest, nil)
	if err != nil {
		w.Fatal(err)
	}
	return src, c
}

// retry harvests and tries again what failed.
func (w *sectorWorld) retry(c *spec.Compiled, now int) Harvested {
	w.Helper()
	r := NewRequest(marchDay(now), nil, nil)
	r.RetryBefore = time.Now().Add(time.Hour)
	h, err := w.app.Harvest(w.Context(), c, r, Watch{})
	if err != nil {
		w.Fatal(err)
	}
	return h
}

func (w *sectorWorld) refusals(c *spec.Compiled) []sector.Refusal {
	w.Helper()
	own, _ := c.Namespace()
	all, err := w.app.store.SectorRefusals(w.Context(), own)
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// A set that the upstream refuses stays owed and is left alone until its time has come: it costs no task, the others are read,
// gaps name it, and one window shows whether it is given again.
func TestAPartitionThatIsRefusedIsLeftAlone(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		src, c := w.compileFile(setsRefused, `cs, math, "q&a"`)
		w.shelves.broken["math"], w.shelves.status = true, 403
		from, to := marchDay(2), marchDay(6)
		if _, err := w.app.Harvest(t.Context(), c, NewRequest(marchDay(6), &from, &to), Watch{}); err != nil {
			t.Fatal(err)
		}
		if w.stored("cs") != 28 || w.stored("q&a") != 48 || len(w.refusals(c)) != 1 {
			t.Fatalf("%d and %d works, %+v", w.stored("cs"), w.stored("q&a"), w.refusals(c))
		}
		since := w.refusals(c)[0].Since
		w.shelves.asked = map[string]int{}
		for day := 7; day <= 9; day++ {
			if h := w.retry(c, day); h.Plan.Total != 2 || h.Plan.Slices["SUCCEEDED"] != 2 || len(h.Draft.LeftOut) != 1 {
				t.Fatalf("%+v: left out %v", h.Plan, h.Draft.LeftOut)
			}
		}
		if w.shelves.asked["math"] != 0 || w.shelves.asked["cs"] != 6 {
			t.Errorf("asked %v", w.shelves.asked)
		}
		if s := w.state(c); !s.Cursor.Equal(from) {
			t.Errorf("the watermark stands at %s", s.Cursor)
		}
		covered, err := w.app.Inspect.CoverageOf(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		gaps := covered.All[0].Gaps(window.Window{From: from, To: marchDay(9)}, true)
		for _, g := range gaps {
			if g.Reason != view.GapRefused || !strings.HasPrefix(wording.GapReason(g), "only set=math is missing: refused by the upstream (HTTP 403) since ") {
				t.Errorf("%s: %s", g.Window, wording.GapReason(g))
			}
		}
		if len(gaps) == 0 || len(view.GapsOf(gaps, "set=cs")) != 0 {
			t.Errorf("%+v", gaps)
		}
		recheckNow(t, database)
		if h := w.retry(c, 9); h.Plan.Total != 1 || w.shelves.asked["math"] != 1 {
			t.Errorf("%+v: asked %v", h.Plan, w.shelves.asked)
		}
		if all := w.refusals(c); len(all) != 1 || !all[0].Since.Equal(since) || all[0].Recheck.Before(time.Now().Add(6*24*time.Hour)) {
			t.Errorf("refused since %s: %+v", since, all)
		}
		w.shelves.broken["math"] = false
		if h := w.retry(c, 9); !h.Draft.Empty || w.shelves.asked["math"] != 1 || !strings.Contains(h.Draft.Reason, "patra coverage gaps sets") {
			t.Errorf("%+v: asked %v", h.Draft, w.shelves.asked)
		}
		recheckNow(t, database)
		if h := w.retry(c, 9); h.Plan.Total != 1 || len(w.refusals(c)) != 0 {
			t.Errorf("%+v: %+v", h.Plan, w.refusals(c))
		}
		w.retry(c, 10)
		if s := w.state(c); !s.Cursor.Equal(marchDay(10)) || w.stored("math") != 24 || w.stored("cs") != 56 {
			t.Errorf("the watermark stands at %s, %d and %d works", s.Cursor, w.stored("math"), w.stored("cs"))
		}
	})
}

// A person may accept that a refused set is not read: then it holds the watermark no longer.
func TestARefusedPartitionMayBeWaived(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		src, c := w.compileFile(setsRefused, "cs, math")
		w.shelves.broken["math"], w.shelves.status = true, 403
		from, to := marchDay(2), marchDay(4)
		if _, err := w.app.Harvest(t.Context(), c, NewRequest(marchDay(4), &from, &to), Watch{}); err != nil {
			t.Fatal(err)
		}
		covered, err := w.app.Inspect.CoverageOf(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		by := ingest.Act{Actor: "test", Reason: "not for us"}
		if done, err := w.app.Cursors.WaiveSector(t.Context(), covered.All[0].Cursor.ID, "set=math", window.Window{From: from, To: to}, by); err != nil || len(done.Waived) != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
		if s := w.state(c); !s.Cursor.Equal(to) {
			t.Errorf("the watermark stands at %s", s.Cursor)
		}
		w.retry(c, 5)
		if s := w.state(c); !s.Cursor.Equal(to) || w.stored("cs") != 21 {
			t.Errorf("the watermark stands at %s, %d works", s.Cursor, w.stored("cs"))
		}
	})
}

// A key that was revoked is refused for every set: the source stops as without refusedStatus, and none is left alone when the
// key is good again.
func TestTooManyRefusedPartitionsAreARefusedKey(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		_, c := w.compileFile(setsRefused, `cs, math, new, "q&a"`)
		for set := range w.shelves.perDay {
			w.shelves.broken[set] = true
		}
		w.shelves.status = 403
		from, to := marchDay(2), marchDay(6)
		if _, err := w.app.Harvest(t.Context(), c, NewRequest(marchDay(6), &from, &to), Watch{}); err != nil {
			t.Log(err)
		}
		if _, paused, err := w.app.store.Paused(t.Context(), ingest.Partition{Dataset: c.Snapshot.Dataset(), Operation: ingest.Harvest}); err != nil || !paused {
			t.Fatalf("the source is not stopped: %v", err)
		}
		clear(w.shelves.broken)
		if _, err := w.app.Operator.Resume(t.Context(), ingest.Scope{Source: "sets"}, ingest.Act{Actor: "test", Reason: "new key"}); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			w.retry(c, 7)
		}
		if s := w.state(c); !s.Cursor.Equal(marchDay(7)) || w.stored("math") != 15 || w.stored("cs") != 35 || len(w.refusals(c)) != 0 {
			t.Errorf("the watermark stands at %s, %d and %d works, %+v", s.Cursor, w.stored("math"), w.stored("cs"), w.refusals(c))
		}
	})
}

// A set that fails for weeks is looked at with one window in each plan besides the new one, and is read in one go when it answers.
func TestAPartitionThatFailsForWeeksIsLookedAt(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		c := w.compile("cs, math", ingest.Harvest)
		w.shelves.broken["math"] = true
		from, to := marchDay(1), marchDay(7)
		if _, err := w.app.Harvest(t.Context(), c, NewRequest(marchDay(7), &from, &to), Watch{}); err != nil {
			t.Fatal(err)
		}
		for day := 8; day <= 9; day++ {
			w.shelves.asked = map[string]int{}
			if h := w.retry(c, day); h.Plan.Total != 3 || w.shelves.asked["math"] != 2 {
				t.Fatalf("day %d: %+v, asked %v", day, h.Plan, w.shelves.asked)
			}
		}
		w.shelves.broken["math"] = false
		w.retry(c, 10)
		if s := w.state(c); s.Cursor.After(marchDay(7)) {
			t.Errorf("the watermark stands at %s", s.Cursor)
		}
		w.retry(c, 11)
		if s := w.state(c); !s.Cursor.Equal(marchDay(11)) || w.stored("math") != 30 || len(coverage.Gaps(s.Segments, window.Window{From: from, To: marchDay(11)})) > 0 {
			t.Errorf("the watermark stands at %s, %d works", s.Cursor, w.stored("math"))
		}
	})
}

// A repository that is refused is passed over by the run that has it: nobody asks for it, nothing fails, and what it owes says so,
// from its beginning on if it is new.
func TestARefusedParentIsPassedOver(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		w.file = forgeRefused
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		for id := range 4 {
			w.forge.add(id, marchDay(1), marchDay(1), 1, 2, 3, 4, 5, 6, 7, 8)
		}
		w.harvest(repos, marchDay(3))
		w.harvest(issues, marchDay(3))
		w.forge.add(4, marchDay(2), marchDay(3), 2, 3, 4, 5, 6, 7)
		w.forge.broken["r4"] = 451
		w.harvest(repos, marchDay(5))
		if h := w.harvest(issues, marchDay(5)); h.Plan.Slices["FAILED"] != 1 {
			t.Fatalf("%+v", h.Plan)
		}
		delete(w.forge.broken, "r4")
		w.harvest(repos, marchDay(7))
		w.forget()
		if h := w.harvest(issues, marchDay(7)); h.Plan.Slices["SUCCEEDED"] != h.Plan.Total || h.Plan.Total == 0 || w.forge.asked["r4"] != 0 || w.forge.asked["r1"] != 1 {
			t.Fatalf("%+v: asked %v", h.Plan, w.forge.asked)
		}
		if gaps := coverage.Gaps(w.state(issues).Segments, window.Window{From: marchDay(1), To: marchDay(7)}); len(gaps) != 1 || !gaps[0].From.Equal(marchDay(2)) || !gaps[0].To.Equal(marchDay(7)) || len(w.stored("forge")) != 24 {
			t.Errorf("gaps %v, %d issues", gaps, len(w.stored("forge")))
		}
		recheckNow(t, database)
		for day := 7; day <= 8; day++ {
			w.harvest(repos, marchDay(day))
			w.harvest(issues, marchDay(day))
		}
		if s := w.state(issues); !s.Cursor.Equal(marchDay(8)) || len(w.stored("forge")) != 34 || len(w.lags(issues)) != 0 {
			t.Errorf("the watermark stands at %s, %d issues, %+v", s.Cursor, len(w.stored("forge")), w.lags(issues))
		}
	})
}
