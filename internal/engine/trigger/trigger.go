// Package trigger starts plans by schedule: of all processes that may plan, the
// one that holds the lease follows the schedules of the registry and turns each
// tick that is due into one trigger and one plan (§5.2.1). When it dies, another
// takes over.
//
// Before it stands the registry, after it the planner. The lease saves work; it
// is not what keeps plans single: two planners that fire one tick find one trigger
// and one plan, because both are known by schedule and tick (D§5.5). It must never
// let a tick pass without a trigger, a plan or a reason that somebody can read.
package trigger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/core/span"
)

// Leases decide which process is the planner.
type Leases interface {
	AcquireLease(ctx context.Context, name, owner string, ttl time.Duration) (epoch int64, held bool, err error)
	RenewLease(ctx context.Context, name, owner string, epoch int64, ttl time.Duration) error
	ReleaseLease(ctx context.Context, name, owner string, epoch int64) error
}

// Ticks keeps which ticks have fired. Its clock says which are due, so that all
// processes agree.
type Ticks interface {
	Now(ctx context.Context) (time.Time, error)
	FollowSchedule(ctx context.Context, name string) (last time.Time, err error)
	RecordTrigger(ctx context.Context, t ingest.Trigger) (int64, error)
	NoteTrigger(ctx context.Context, id int64, remarks []byte) error
	TickFired(ctx context.Context, name string, tick time.Time, missed int, trigger int64) error
}

// Planner plans what a tick asks for. Its errors are those of the machinery: the
// tick is tried again.
type Planner interface {
	// Upkeep goes on with what earlier triggers left: plans that stopped slicing,
	// slices that are to be cut again.
	Upkeep(ctx context.Context) error
	// Unfinished is a plan of the job that is still being worked on, or 0.
	Unfinished(ctx context.Context, j Job) (plan int64, err error)
	Plan(ctx context.Context, j Job, t Tick) (Outcome, error)
}

// Job is one operation of an endpoint and when it is to run.
type Job struct {
	Partition ingest.Partition
	Schedule  schedule.Schedule
}

// Name identifies the schedule of a partition.
func Name(p ingest.Partition) string {
	return p.Source + "/" + p.Endpoint + "/" + string(p.Operation)
}

// Tick is one moment of a schedule that is due.
type Tick struct {
	Key    string // identity of the trigger
	At     time.Time
	Now    time.Time // by the store's clock; what the plan is drawn for
	Missed int       // older ticks that this one stands for
}

// Outcome is what became of a tick.
type Outcome struct {
	PlanID  int64
	Summary string // of the plan
	Refused string // why there is no plan and trying again is no use
	Paused  bool   // that is because somebody, or the program, stopped the work: its alarm was raised then
}

// Config is what the program decides.
type Config struct {
	Owner string        // name of this process
	Lease time.Duration // how long a dead planner is waited for (default 15 s)
	Poll  time.Duration // how often the registry is looked at (default 10 s)
	Spans span.Recorder // records what becomes of each tick; nil: nobody does
}

// WithDefaults fills what was left open.
func (c Config) WithDefaults() Config {
	if c.Lease == 0 {
		c.Lease = 15 * time.Second
	}
	if c.Poll == 0 {
		c.Poll = 10 * time.Second
	}
	return c
}

// Service follows schedules.
type Service struct {
	leases  Leases
	ticks   Ticks
	planner Planner
	jobs    func(context.Context) ([]Job, error)
	config  Config
	log     *slog.Logger

	epoch   int64             // of our lease; 0 while another has it
	renewed time.Time         // when we last asked for it and got it
	standby bool              // said that another has it
	idle    bool              // said that there is no schedule
	known   map[string]string // schedules that were announced
	waiting map[string]int64  // plans whose end a tick waits for
	refused map[string]string // why ticks lead to no plan, as it was told
}

// New makes a service. Jobs lists what the registry schedules now.
func New(leases Leases, ticks Ticks, p Planner, jobs func(context.Context) ([]Job, error), c Config, log *slog.Logger) *Service {
	return &Service{
		leases: leases, ticks: ticks, planner: p, jobs: jobs, config: c.WithDefaults(), log: log,
		known: map[string]string{}, waiting: map[string]int64{}, refused: map[string]string{},
	}
}

// lastWords is how long a process that was told to stop may still give its lease back.
const lastWords = 3 * time.Second

// Run follows schedules until ctx ends, and gives the lease back.
func (s *Service) Run(ctx context.Context) error {
	defer s.releaseLease(ctx)
	for {
		pause := time.NewTimer(s.lookOnce(ctx))
		select {
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		case <-pause.C:
		}
	}
}

// lookOnce looks at everything once, and returns how long nothing will happen after it.
func (s *Service) lookOnce(ctx context.Context) time.Duration {
	held, err := s.holdLease(ctx)
	if err != nil {
		s.logTrouble(ctx, "the planner lease could not be asked for", err)
	}
	if !held {
		return s.renewalLength()
	}
	wait := s.renewalLength()
	s.whileHeld(ctx, func(ctx context.Context) { wait = s.followDue(ctx) })
	return wait
}

// followDue follows what is due, then looks after earlier plans. Ticks come first: a
// large plan that goes on must not keep them waiting.
func (s *Service) followDue(ctx context.Context) time.Duration {
	jobs, err := s.jobs(ctx)
	if err != nil {
		s.logTrouble(ctx, "the schedules could not be read", err)
		return s.renewalLength()
	}
	s.announceJobs(ctx, jobs)
	wait := min(s.config.Poll, s.renewalLength())
	for _, j := range jobs {
		if errors.Is(context.Cause(ctx), errLeaseLost) {
			return s.renewalLength()
		}
		until, err := s.attendJob(ctx, j)
		if err != nil {
			s.logTrouble(ctx, "a schedule could not be followed; it is tried again", err, "schedule", j.Schedule.Name)
			continue
		}
		wait = min(wait, until)
	}
	s.continuePlans(ctx)
	return wait
}

// continuePlans goes on with earlier plans for a while; what it stored stays stored, and
// the next round goes on from there.
func (s *Service) continuePlans(ctx context.Context) {
	short, cancel := context.WithTimeout(ctx, s.config.Poll)
	defer cancel()
	if err := s.planner.Upkeep(short); err != nil && short.Err() == nil {
		s.logTrouble(ctx, "what earlier plans left could not be finished", err)
	}
}

func (s *Service) logTrouble(ctx context.Context, message string, err error, more ...any) {
	if ctx.Err() == nil {
		s.log.Warn(message, append(more, "error", err)...)
	}
}
