package sim

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// scenario is one kind of trouble that an upstream makes while a source is read
// that it declared a rate for.
type scenario struct {
	name      string
	form      string // how the source pages
	works     int    // in two days
	config    upsim.Config
	options   upsim.Options
	perSecond int
	takes     time.Duration // an answer
	processes int
	settings  []string
	trouble   func(s *stage) // returns when it is over
}

// stage is a scenario under way.
type stage struct {
	*world
	scenario
	up      *upstream
	journal journal
	alarms  alarms
	began   time.Time // the harvest
	over    time.Time // the trouble
}

const stageBurst = 6

// perform plays a scenario with processes that share its rate by their ranks, and
// holds what came of it against the truth, the invariants and the upstream's log.
func perform(t *testing.T, sc scenario) *stage {
	t.Helper()
	return performOn(t, inFile(t), sc)
}

// performOn does so in a database of the caller's choice.
func performOn(t *testing.T, at storage, sc scenario) *stage {
	t.Helper()
	for _, f := range forms() {
		for name, value := range f.Env {
			t.Setenv(name, value)
		}
	}
	runtime.GC() // see run
	runtime.GC()
	real := time.Now()
	var s *stage
	synctest.Test(t, func(t *testing.T) {
		s = &stage{scenario: sc}
		s.alarms.next = logger().Handler()
		s.world = &world{T: t, kept: at, log: slog.New(&s.alarms), calm: make(chan struct{}), net: newNetwork(), tally: map[string]int{}, plans: map[string]triggered{}}
		s.play()
	})
	s.T = t
	s.verify()
	s.judge(time.Since(real))
	return s
}

func (s *stage) play() {
	pass(s.Context(), 20*24*time.Hour) // see world.play
	close(s.calm)                      // nothing happens but the scenario
	s.world.began = time.Now()
	ctx, stop := context.WithCancel(s.Context())
	s.ctx = ctx
	s.open()
	var processes []*process
	for n := range s.processes {
		processes = append(processes, s.start(fmt.Sprint("p", n)))
	}
	pass(ctx, lease) // by then each knows its share
	var planning sync.WaitGroup
	s.began = time.Now()
	planning.Go(s.keepPlanning)
	s.trouble(s)
	s.over = time.Now()
	s.rest()
	stop()
	planning.Wait()
	for _, p := range processes {
		<-p.ended
	}
	s.net.close()
	s.must(s.store.Close())
	synctest.Wait()
}

func (s *stage) open() {
	s.lost = &losses{random: s.random("losses")}
	s.bodies = &bodies{random: s.random("bodies"), kept: map[string]bool{}}
	s.openStore(store.Options{})
	c := s.config
	c.Seed, c.From, c.To, c.PerDay, c.Flat = 6, s.world.began.AddDate(0, 0, -harvests), s.world.began, s.works/harvests, true
	o := s.options
	o.LogLimit, o.OnEntry = -1, s.journal.note
	settings := append([]string{
		fmt.Sprint("rate.perSecond=", s.perSecond), fmt.Sprint("rate.burst=", stageBurst), "rate.concurrency=8", "slicing.step=PT1H",
		"retry.maxAttempts=5", "retry.initialDelay=PT0.1S", "retry.maxDelay=PT30S",
	}, s.scenario.settings...)
	if s.form == simulated.Daily().Name {
		settings = append(settings, simulated.DailySettings()...)
	}
	data := upsim.NewDataset(c)
	var of *racks
	if isRacks(s.form) {
		of = newRacks(data, 6, s.world.began)
		o.Forms.Shelf = of.holding
	}
	s.up = s.join(s.form, s.text(), data, o, settings...)
	if s.errands = []errand{s.harvestOf(s.up)}; of != nil {
		s.up.setRacks(of)
		s.errands = append([]errand{s.harvestOfRacks(s.up)}, s.errands...)
	}
	s.weather("")
}

// text is the source file. What it leaves out about totals goes without saying.
func (s *stage) text() []byte {
	if s.form == crossref {
		text, err := catalog.Read(crossref)
		s.must(err)
		return text
	}
	for _, f := range append(append(forms(), simulated.Daily(), simulated.CSV(), simulated.Shelves(), simulated.Racks(false), simulated.Racks(true)), append(append(lessThanAWindow(), simulated.Whole()...), simulated.Files()...)...) {
		if f.Name == s.form {
			return []byte(f.Silent().YAML("http://" + f.Name + ".sim"))
		}
	}
	s.Fatalf("there is no form %s", s.form)
	return nil
}

// keepPlanning plans whatever is owed, as a schedule does.
func (s *stage) keepPlanning() {
	p := planner.New(s.store)
	random := s.random("planner")
	for tick := 0; ; tick++ {
		for _, e := range s.errands {
			s.plan(p, e, fmt.Sprint(tick), random)
		}
		s.upkeep(p)
		if !pass(s.ctx, time.Minute) {
			return
		}
	}
}

// weather sets the faults of the upstream. Every answer takes its time.
func (s *stage) weather(script string) {
	s.faults(s.up, fmt.Sprintf("slow@*:delay=%s;%s", s.takes, script))
}

// enforces is an upstream that refuses what is above a rate of its own, and says
// neither before nor then what it is.
func (s *stage) enforces(perSecond float64) {
	tokens, at := 1.0, time.Now()
	tooMany := func(upsim.Hit) bool { // one at a time: the simulator holds its script
		tokens = min(tokens+perSecond*time.Since(at).Seconds(), stageBurst)
		at = time.Now()
		if tokens < 1 {
			return true
		}
		tokens--
		return false
	}
	s.must(s.up.server.SetFaults([]upsim.Fault{{Kind: upsim.FaultSlow, Delay: s.takes}, {Kind: upsim.Fault429, When: tooMany}}))
}

// judge holds the log against the declared rate, and tells how it went.
func (s *stage) judge(real time.Duration) {
	s.Helper()
	db, err := check.Open(s.kept.database)
	s.must(err)
	defer db.Close()
	log := s.journal.all()
	rate := float64(s.perSecond)
	most := burst(log, rate)
	if most > stageBurst+1e-6 {
		s.Errorf("I11: a burst of %.2f above the rate, declared are %d", most, stageBurst)
	}
	failed, mended := s.recovered(db, log)
	full, reached := fullSpeed(log, s.over, rate)
	speed := "no stretch of full speed after it"
	if reached {
		speed = fmt.Sprintf("full speed after %s", full.Round(100*time.Millisecond))
	}
	last := log[len(log)-1].At
	s.Logf("%s: %d works, %d requests in %s, a burst of %.1f; trouble ended after %s, first good answer %s later, %s; %d of %d failed answers made good; %d failed tasks; %d alarms; %s of real time",
		s.name, s.up.data.Len(), len(log), last.Sub(s.began).Round(time.Second), most, s.over.Sub(s.began).Round(time.Second),
		firstGood(log, s.over).Round(100*time.Millisecond), speed, mended, failed, s.failedTasks(db), s.alarms.count(), real.Round(100*time.Millisecond))
	s.Log(s.counted())
}

// alarms counts what calls a person: a source that was stopped.
type alarms struct {
	next slog.Handler
	mu   sync.Mutex
	n    int
}

func (a *alarms) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelError || a.next.Enabled(ctx, l)
}

func (a *alarms) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "source stopped" {
		a.mu.Lock()
		a.n++
		a.mu.Unlock()
	}
	if a.next.Enabled(ctx, r.Level) {
		return a.next.Handle(ctx, r)
	}
	return nil
}

func (a *alarms) WithAttrs([]slog.Attr) slog.Handler { return a }
func (a *alarms) WithGroup(string) slog.Handler      { return a }

func (a *alarms) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}
