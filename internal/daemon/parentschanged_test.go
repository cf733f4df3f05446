package daemon

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// forgeChanged asks for the issues of repositories that changed, and of all within three days.
var forgeChanged = strings.Replace(forgeSource, "since: $.created}", "since: $.created, changed: true, sweep: P3D}", 1)

// behindNow lets issues be read behind now, and some time again.
func behindNow(file string) string {
	return strings.Replace(file, "  issues:\n    role: SEARCH\n", "  issues:\n    role: SEARCH\n    window: {safetyLag: PT5H, lookback: PT9H}\n", 1)
}

// busy lets repositories be read so far behind now that one which changes often is not seen while it does.
func busy(file string) string {
	return strings.Replace(file, "  repos:\n    role: SEARCH\n", "  repos:\n    role: SEARCH\n    window: {safetyLag: PT4H}\n", 1)
}

// changedWorld is one way to read a forge by what changes in it.
type changedWorld struct {
	file         string
	lag          time.Duration
	longest      int
	seeds, steps int
	database     func(*testing.T) string
}

func changedWorlds() map[string]changedWorld {
	sqlite := func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "patra.db") }
	feed := strings.Replace(forgeFeed, "since: $.created}", "since: $.created, changed: true, sweep: P3D}", 1)
	return map[string]changedWorld{
		"sqlite":  {forgeChanged, 0, 40, 8, 9, sqlite},
		"behind":  {behindNow(forgeChanged), 5 * time.Hour, 20, 8, 9, sqlite},
		"busy":    {busy(forgeChanged), 4 * time.Hour, 5, 8, 20, sqlite},
		"refused": {refusing(forgeChanged), 0, 40, 10, 9, sqlite},
		"feed":    {busy(feed), 4 * time.Hour, 5, 4, 20, sqlite},
		"mysql":   {busy(forgeChanged), 4 * time.Hour, 5, 2, 8, func(t *testing.T) string { return mariadb.DSN(t) }},
	}
}

// ticking lets a clock go on a little whenever it is read, so that what is stored before a plan is older than the plan.
func ticking(clock func() time.Time) func() time.Time {
	var ticks atomic.Int64
	return func() time.Time { return clock().Add(time.Duration(ticks.Add(1)) * time.Microsecond) }
}

// run lets a model of the forge go through some steps and settle, for every seed.
func (of changedWorld) run(t *testing.T, prepare func(*forgeModel), after func(*forgeModel)) {
	var m *forgeModel
	w := newForgeWorldAt(t, of.database(t), ticking(func() time.Time {
		if m == nil {
			return marchDay(1)
		}
		return m.now
	}))
	w.file = of.file
	for seed := range uint64(of.seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			now := marchDay(2)
			if m != nil {
				now = m.now.Add(time.Hour).Truncate(24 * time.Hour) // the clock of a database does not go back
			}
			m = &forgeModel{forgeWorld: w, T: t, dice: rand.New(rand.NewPCG(seed, 1)), code: fmt.Sprintf("forge%d", seed), now: now, lag: of.lag, longest: of.longest}
			prepare(m)
			w.first = now.Add(-24 * time.Hour)
			w.clear()
			m.repos, m.issues = w.compile(m.code, "repos"), w.compile(m.code, "issues")
			for range m.draw(2, of.steps) {
				m.step()
				m.checkClaims()
			}
			m.settle()
			after(m)
		})
	}
}

// What coverage claims of repositories that are asked for when they changed has been read, as long as the forge keeps its promise:
// whatever it does between and while it is read, and whatever fails.
func TestWhatIsClaimedOfChangedParentsWasRead(t *testing.T) {
	for name, of := range changedWorlds() {
		t.Run(name, func(t *testing.T) {
			of.run(t, func(m *forgeModel) { m.announces = true }, func(*forgeModel) {})
		})
	}
}

// A forge that does not keep its promise is found out: after a sweep everything is there, and what came late because of it is
// counted.
func TestASweepFindsWhatParentsDidNotAnnounce(t *testing.T) {
	swept := 0
	for name, of := range changedWorlds() {
		t.Run(name, func(t *testing.T) {
			of.run(t, func(m *forgeModel) { m.mayMiss, m.unbroken = true, true }, func(m *forgeModel) {
				if m.told != m.swept {
					m.T.Errorf("%d records are said to have come unannounced, and %d did", m.told, m.swept)
				}
				swept += m.told
			})
		})
	}
	if swept == 0 {
		t.Error("nothing was ever found by a sweep")
	}
}

// seldomSwept asks for the issues of repositories that changed, and hardly ever for others.
func seldomSwept(file string) string {
	return strings.Replace(file, "sweep: P3D", "sweep: P366D", 1)
}

// Only repositories that changed are asked for. One whose change is seen late, because it changed again before its list was
// read, is asked for from where it was read last: its first change lies in time that counts as read.
func TestAParentThatIsSeenLateIsReadFromWhereItWasRead(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		now := marchDay(3)
		w := newForgeWorldAt(t, database, ticking(func() time.Time { return now }))
		w.file = busy(seldomSwept(forgeChanged))
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		for id := range 5 {
			w.forge.add(id, marchDay(1), marchDay(1), 1)
		}
		read := func(at time.Time) Harvested {
			now = at
			w.harvest(repos, now)
			w.forget()
			return w.harvest(issues, now)
		}
		read(now)
		read(marchDay(4)) // issues are read up to when the repositories were stored: until then all of them may have some
		first := marchDay(4).Add(time.Hour)
		repo := w.forge.repos["r1"]
		repo.issues[50], repo.issues[51], repo.Updated = first, first.Add(3*time.Hour), first.Add(3*time.Hour)
		h := read(first.Add(6 * time.Hour)) // the repository is at rest for three hours only
		if _, there := w.stored("forge")["1/50"]; there || len(w.forge.asked) > 0 || h.Plan.Stats.Parents.Changed > 0 || !w.state(issues).Cursor.After(first) {
			t.Fatalf("%v, %+v", w.forge.asked, h.Plan.Stats.Parents)
		}
		h = read(first.Add(20 * time.Hour))
		stored := w.stored("forge")
		if !stored["1/50"].Equal(first) || !stored["1/51"].Equal(first.Add(3*time.Hour)) || len(w.forge.asked) != 1 || h.Plan.Stats.Parents.Changed != 1 || h.Plan.Stats.Swept != 0 {
			t.Fatalf("%v, %v, %+v", stored, w.forge.asked, h.Plan.Stats)
		}
		read(first.Add(48 * time.Hour)) // issues are read up to when the change was stored
		if h = read(first.Add(72 * time.Hour)); len(w.forge.asked) != 0 {
			t.Fatalf("%v are asked for again, %+v", w.forge.asked, h.Plan.Stats.Parents)
		}
	})
}

// A change that is stored before windows come to its time counts until they did: issues are read further behind now than
// repositories.
func TestAChangeCountsUntilTheListIsReadBehindIt(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		now := marchDay(3)
		w := newForgeWorldAt(t, database, ticking(func() time.Time { return now }))
		w.file = seldomSwept(behindNow(forgeChanged))
		w.file = strings.Replace(w.file, ", lookback: PT9H", "", 1)
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		for id := range 5 {
			w.forge.add(id, marchDay(1), marchDay(1), 1)
		}
		first := marchDay(4).Add(time.Hour)
		for _, at := range []time.Time{now, marchDay(4), first.Add(2 * time.Hour), first.Add(10 * time.Hour)} {
			if now = at; at.After(first) {
				repo := w.forge.repos["r1"]
				repo.issues[60], repo.Updated = first, first
			}
			w.harvest(repos, now)
			w.forget()
			w.harvest(issues, now)
		}
		if stored := w.stored("forge"); !stored["1/60"].Equal(first) || w.forge.asked["r2"] > 0 || !w.state(issues).Cursor.After(first) {
			t.Fatalf("%v, %v", stored, w.forge.asked)
		}
	})
}
