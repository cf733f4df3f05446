package trigger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/schedule"
)

// world is a store in memory on the bubble's clock, and the plans that were made.
type world struct {
	*testing.T
	mu       sync.Mutex
	owner    string
	epoch    int64
	until    time.Time
	dead     map[string]bool // processes whose calls get no answer
	last     map[string]time.Time
	missed   map[string]int
	triggers map[string]ingest.Trigger
	order    []string // keys of triggers as they came
	notes    map[int64]string
	jobs     []Job
	plan     func(j Job, t Tick) (Outcome, error)
	takes    time.Duration // of making a plan
	upkeep   func(context.Context) error
	busy     int64
	upkeeps  int
	planned  []string // owner and tick
	log      bytes.Buffer
}

var errDown = errors.New("the database is down")

// inBubble runs a test on a clock that starts at midnight of 1 January 2000.
func inBubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(&world{
			T: t, dead: map[string]bool{}, last: map[string]time.Time{}, missed: map[string]int{},
			triggers: map[string]ingest.Trigger{}, notes: map[int64]string{},
		})
	})
}

// process is one service and its connection.
type process struct {
	*world
	name string
	stop context.CancelFunc
	done chan error
}

// start runs a service until the test or somebody stops it.
func (w *world) start(name string) *process {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	p := &process{w, name, stop, make(chan error, 1)}
	s := New(p, p, p, p.listed, Config{Owner: name, Lease: 15 * time.Second, Poll: 10 * time.Second}, slog.New(slog.NewTextHandler(p, nil)))
	go func() { p.done <- s.Run(ctx) }()
	w.Cleanup(func() { p.stop() })
	return p
}

// end stops a process in an orderly way.
func (p *process) end() {
	p.Helper()
	p.stop()
	if err := <-p.done; !errors.Is(err, context.Canceled) {
		p.Errorf("ended with %v", err)
	}
}

// kill cuts a process off: nothing of it arrives any more.
func (p *process) kill() {
	p.do(func() { p.dead[p.name] = true })
	p.stop()
	<-p.done
}

// pass lets virtual time go by.
func (w *world) pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func (w *world) do(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// ask is every call of a process to the store.
func (p *process) ask(call func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead[p.name] {
		return errDown
	}
	call()
	return nil
}

func (p *process) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(line)
}

func (p *process) AcquireLease(_ context.Context, _, owner string, ttl time.Duration) (epoch int64, held bool, err error) {
	err = p.ask(func() {
		if p.owner != "" && p.owner != owner && !time.Now().After(p.until) {
			return
		}
		if p.owner != owner {
			p.epoch++
		}
		p.owner, p.until, epoch, held = owner, time.Now().Add(ttl), p.epoch, true
	})
	return epoch, held, err
}

func (p *process) RenewLease(_ context.Context, _, owner string, epoch int64, ttl time.Duration) (err error) {
	return errors.Join(p.ask(func() {
		if p.owner != owner || p.epoch != epoch {
			err = fault.ErrStale
			return
		}
		p.until = time.Now().Add(ttl)
	}), err)
}

func (p *process) ReleaseLease(_ context.Context, _, owner string, epoch int64) error {
	return p.ask(func() {
		if p.owner == owner && p.epoch == epoch {
			p.owner = ""
		}
	})
}

func (p *process) Now(context.Context) (now time.Time, err error) {
	return time.Now().UTC(), p.ask(func() {})
}

func (p *process) FollowSchedule(_ context.Context, name string) (last time.Time, err error) {
	err = p.ask(func() {
		if _, known := p.last[name]; !known {
			p.last[name] = time.Now().UTC()
		}
		last = p.last[name]
	})
	return last, err
}

func (p *process) RecordTrigger(_ context.Context, t ingest.Trigger) (id int64, err error) {
	err = p.ask(func() {
		if _, known := p.triggers[t.Key]; !known {
			p.triggers[t.Key] = t
			p.order = append(p.order, t.Key)
		}
		id = int64(slices.Index(p.order, t.Key) + 1)
	})
	return id, err
}

func (p *process) NoteTrigger(_ context.Context, id int64, remarks []byte) error {
	return p.ask(func() { p.notes[id] = string(remarks) })
}

func (p *process) TickFired(_ context.Context, name string, tick time.Time, missed int, _ int64) error {
	return p.ask(func() {
		if tick.After(p.last[name]) {
			p.last[name], p.missed[name] = tick, missed
		}
	})
}

func (p *process) listed(context.Context) (jobs []Job, err error) {
	err = p.ask(func() { jobs = slices.Clone(p.jobs) })
	return jobs, err
}

func (p *process) Unfinished(context.Context, Job) (plan int64, err error) {
	err = p.ask(func() { plan = p.busy })
	return plan, err
}

func (p *process) Upkeep(ctx context.Context) error {
	if p.upkeep != nil {
		return p.upkeep(ctx)
	}
	return p.ask(func() { p.upkeeps++ })
}

func (p *process) Plan(ctx context.Context, j Job, t Tick) (out Outcome, err error) {
	if p.takes > 0 {
		select {
		case <-time.After(p.takes):
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	out = Outcome{PlanID: 1, Summary: "made"}
	down := p.ask(func() {
		if p.plan != nil {
			out, err = p.plan(j, t)
		}
		if err == nil && out.Refused == "" {
			p.planned = append(p.planned, fmt.Sprintf("%s %s %s +%d", p.name, j.Partition.Operation, t.At.Format("15:04:05"), t.Missed))
		}
	})
	return out, errors.Join(down, err)
}

// job is an operation with an interval.
func (w *world) job(op ingest.Operation, every time.Duration) Job {
	w.Helper()
	p := ingest.Partition{Dataset: ingest.Dataset{Source: "tiny", Endpoint: "works"}, Operation: op}
	s, err := schedule.New(Name(p), schedule.Config{Every: duration.Duration(every)})
	if err != nil {
		w.Fatal(err)
	}
	return Job{p, s}
}

// plans checks what was planned so far.
func (w *world) plans(want ...string) {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.planned, want) {
		w.Errorf("planned %q, want %q\n%s", w.planned, want, w.log.String())
	}
}

// logged counts lines.
func (w *world) logged(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.log.String(), text)
}

func (w *world) noted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Values(w.notes))
}
