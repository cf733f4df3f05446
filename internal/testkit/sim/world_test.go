package sim

import (
	"context"
	"errors"
	"fmt"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/testkit/check"
)

// size is how much of everything a simulation has.
type size struct {
	processes int
	sources   int
	span      time.Duration // while faults happen
}

// world is everything that one seed makes.
type world struct {
	*testing.T
	seed  uint64
	size  size
	kept  storage
	log   *slog.Logger
	began time.Time

	ctx       context.Context // until the end
	calm      chan struct{}   // closed when faults stop
	net       *network
	store     *store.Store
	chain     transport.Doer // of the planners
	bodies    *bodies
	receiver  *receiver // of events
	lost      *losses
	upstreams []*upstream
	errands   []errand

	mu    sync.Mutex
	tally map[string]int
	plans map[string]triggered
}

// run plays a seed and leaves what it stored where it was told to.
func run(t *testing.T, seed uint64, s size, at storage) (w *world) {
	t.Helper()
	for _, f := range forms() {
		for name, value := range f.Env {
			t.Setenv(name, value)
		}
	}
	// The store keeps compressors for all; those of another bubble are of no use.
	runtime.GC()
	runtime.GC()
	synctest.Test(t, func(t *testing.T) {
		w = &world{T: t, seed: seed, size: s, kept: at, log: logger(), calm: make(chan struct{}), net: newNetwork(), tally: map[string]int{}, plans: map[string]triggered{}}
		w.play()
	})
	w.T = t
	return w
}

// logger tells everything where that is wanted.
func logger() *slog.Logger {
	if os.Getenv("PATRA_SIM_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (w *world) play() {
	pass(w.Context(), 20*24*time.Hour) // a bubble's clock starts where one bundled source has its first day
	w.began = time.Now()
	ctx, stop := context.WithCancel(w.Context())
	w.ctx = ctx
	w.prepare()
	var background, trouble sync.WaitGroup
	for n := range w.size.processes {
		background.Go(func() { w.place(n) })
	}
	background.Go(w.planners)
	for n := range relays {
		background.Go(func() { w.relay(n) })
	}
	for _, u := range w.upstreams {
		trouble.Go(func() { w.blow(u) })
		trouble.Go(func() { w.change(u) })
		if u.racks != nil {
			trouble.Go(func() { w.shuffle(u) })
		}
	}
	trouble.Go(w.operator)
	pass(ctx, w.size.span)
	w.lost.set(0)
	w.bodies.set(0)
	w.receiver.set(false)
	close(w.calm)
	trouble.Wait()
	w.rest()
	w.delivered()
	w.again()
	stop()
	background.Wait()
	w.net.close()
	w.must(w.store.Close())
	synctest.Wait()
}

// prepare builds everything from the seed.
func (w *world) prepare() {
	w.Helper()
	random := w.random("world")
	w.lost = &losses{random: w.random("losses")}
	w.bodies = &bodies{random: w.random("bodies"), kept: map[string]bool{}}
	w.receiver = &receiver{random: w.random("receiver"), faulty: true, bytes: map[string][32]byte{}, version: map[string]int{}}
	w.openStore(store.Options{AfterCommit: w.lost.after})
	chosen, withCrossref := choose(random, w.size.sources)
	for _, f := range chosen {
		w.open(f, random)
	}
	if withCrossref {
		w.openCrossref(random)
	}
	less := lessThanAWindow()
	w.open(less[w.random("less").IntN(len(less))], w.random("less, its answers"))
	w.openWhole(w.random("whole"))
	w.open(simulated.Shelves(), w.random("shelves"))
	w.openFiles(w.random("files"))
	w.openRacks(w.random("racks"))
	for _, u := range w.upstreams {
		w.errands = append(w.errands, w.errandsOf(u)...)
	}
	w.chain = transport.StackSigned(httpclient.New(httpclient.Options{Dial: w.net.dial}), secrets.Limited{}, rategate.New())
	w.lost.set(0.01)
	w.bodies.set(0.005)
}

// rest waits until nothing is owed of the time in which anything happened. The
// longest wait for a window that failed is a day. A filter that is ahead of the
// stamps selects the last works so much later.
func (w *world) rest() {
	stopped := time.Now()
	settled := stopped
	for _, u := range w.upstreams {
		if late := stopped.Add(u.lies.FilterOff); late.After(settled) {
			settled = late
		}
	}
	p := planner.New(w.store)
	for time.Since(stopped) < 3*24*time.Hour {
		if !pass(w.ctx, every) {
			return
		}
		if w.quiet(p, settled) {
			w.tally["minutes to rest"] = int(time.Since(stopped).Minutes())
			return
		}
	}
	w.Errorf("no rest %s after the last fault: %s", time.Since(stopped), w.owes(p, settled))
}

// quiet reports that all time before an instant is read and settled, and no task
// is left.
func (w *world) quiet(p *planner.Planner, before time.Time) bool { return w.owes(p, before) == "" }

func (w *world) owes(p *planner.Planner, before time.Time) string {
	for _, e := range w.errands {
		n, err := w.store.CountTasks(w.ctx, ingest.TaskPick{Scope: ingest.Scope{Source: e.code}}, ingest.OpenTasks()...)
		if err != nil {
			return err.Error()
		}
		for status, n := range n {
			if n > 0 {
				return fmt.Sprintf("%s has %d tasks %s", e.code, n, status)
			}
		}
		e.ask.Now = time.Now()
		d, err := p.Draft(w.ctx, e.compiled, e.ask)
		if err != nil {
			return err.Error()
		}
		if len(d.Slices) > 0 && d.Slices[0].From.Before(before) {
			return fmt.Sprintf("%s %s would read from %s", e.code, d.Operation, d.Slices[0].From)
		}
		if len(d.Waiting) > 0 && d.Waiting[0].From.Before(before) {
			return fmt.Sprintf("%s %s waits for %s", e.code, d.Operation, d.Waiting[0])
		}
		if lags := w.lagsOf(e); lags != "" {
			return lags
		}
	}
	return ""
}

// lagsOf tells what single parts of a list owe: a plan asks for none of it while a part is refused.
func (w *world) lagsOf(e errand) string {
	own, err := e.compiled.Namespace()
	if err != nil || e.partition().Operation != ingest.Harvest {
		return ""
	}
	lags, err := w.store.SectorLags(w.ctx, own)
	if err != nil || len(lags) > 0 {
		return fmt.Sprintf("%s %s: %d ranges are owed by parts alone (%v)", e.code, e.partition().Endpoint, len(lags), err)
	}
	return ""
}

// again fires every trigger once more and lets some harvests read what was read:
// nothing but attempts may come of it (I8).
func (w *world) again() {
	db, err := check.Open(w.kept.database)
	w.must(err)
	defer db.Close()
	before, err := check.Digest(w.ctx, db)
	w.must(err)
	p := planner.New(w.store)
	w.mu.Lock()
	all := maps.Clone(w.plans)
	w.mu.Unlock()
	for _, t := range all {
		t.ask.Now = time.Now()
		plan, _, err := p.Plan(w.ctx, t.compiled, t.ask)
		w.must(err)
		w.planned(t.errand, plan.ID)
	}
	pass(w.ctx, 2*every)
	after, err := check.Digest(w.ctx, db)
	w.must(err)
	if before != after {
		w.Error("I8: records, events or rejects changed although nothing happened upstream")
	}
}

// random is a stream of its own, so that one use does not move another.
func (w *world) random(of ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, of...)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// pass lets time go by while faults happen.
func (w *world) pass(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.calm:
		return false
	}
}

func (w *world) calmed() bool {
	select {
	case <-w.calm:
		return true
	default:
		return false
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tally[what]++
}

var errLost = errors.New("the answer of the database got lost")

// losses is the database telling of commits that failed, and did not.
type losses struct {
	mu     sync.Mutex
	random *rand.Rand
	chance float64
	again  bool // the last answer was lost
	n      int
}

// stillBroken is the chance that an answer is lost after another.
const stillBroken = 0.4

func (l *losses) set(chance float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chance = chance
}

func (l *losses) after(string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	chance := l.chance
	if l.again && chance > 0 {
		chance = stillBroken
	}
	if l.again = l.random.Float64() < chance; !l.again {
		return nil
	}
	l.n++
	return errLost
}
