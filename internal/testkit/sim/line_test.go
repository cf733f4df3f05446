package sim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

var (
	errDead = errors.New("this process is dead")
	errCut  = errors.New("the database cannot be reached")
)

// line is what lies between one process and the world: whatever it asks of the
// database or an upstream goes through it. It can be held still, as SIGSTOP holds
// a process, cut, or be dead: then nothing passes, in either direction.
type line struct {
	store   *store.Store
	mu      sync.Mutex
	dead    bool
	cut     bool
	frozen  chan struct{} // closed when it goes on; nil while it runs
	deadAt  int           // dies at this call of the database, counted from 1; 0 never
	told    bool          // at that call, dies after it was done rather than before
	holdFor time.Duration // is held still for so long when it is about to write; 0 is not
	calls   int
	onDeath context.CancelCauseFunc
	count   func(what string)
}

// wait blocks a frozen process, whatever its contexts say: it does not run.
func (l *line) wait() error {
	for {
		l.mu.Lock()
		frozen, dead := l.frozen, l.dead
		l.mu.Unlock()
		switch {
		case dead:
			return errDead
		case frozen == nil:
			return nil
		}
		<-frozen
	}
}

func (l *line) kill() {
	l.mu.Lock()
	l.dead = true
	l.mu.Unlock()
	l.thaw()
	l.onDeath(errDead)
}

func (l *line) freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen == nil {
		l.frozen = make(chan struct{})
	}
}

func (l *line) thaw() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frozen != nil {
		close(l.frozen)
		l.frozen = nil
	}
}

func (l *line) setCut(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
}

// dieAt lets the process die at one of its next calls of the database.
func (l *line) dieAt(more int, told bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadAt, l.told = l.calls+more, told
}

// freezeWriting holds the process still when it is about to write of its work.
func (l *line) freezeWriting(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holdFor = d
}

func (l *line) writing() {
	l.mu.Lock()
	hold := l.holdFor
	l.holdFor = 0
	l.mu.Unlock()
	if hold > 0 {
		l.count("processes held before a write")
		l.freeze()
		time.AfterFunc(hold, l.thaw)
	}
}

// begin counts a call of the database and says whether it may be made.
func (l *line) begin() error {
	if err := l.wait(); err != nil {
		return err
	}
	l.mu.Lock()
	l.calls++
	due, told, cut := l.deadAt > 0 && l.calls >= l.deadAt, l.told, l.cut
	l.mu.Unlock()
	switch {
	case due && !told:
		l.kill()
		return errDead
	case cut:
		return errCut
	}
	return nil
}

// end says whether the answer of a call is heard.
func (l *line) end() error {
	l.mu.Lock()
	due, cut := l.deadAt > 0 && l.calls >= l.deadAt, l.cut
	l.mu.Unlock()
	switch {
	case due:
		l.kill()
		return errDead
	case cut:
		return errCut
	}
	return l.wait()
}

func through[T any](l *line, do func() (T, error)) (out T, err error) {
	if err := l.begin(); err != nil {
		return out, err
	}
	got, err := do()
	if errors.Is(err, fault.ErrStale) {
		l.count("refused writes of a lost lease")
	}
	if lost := l.end(); lost != nil {
		return out, lost
	}
	return got, err
}

func only(err error) (struct{}, error) { return struct{}{}, err }

// What dispatch asks.

func (l *line) Queues(ctx context.Context) ([]ingest.Queue, error) {
	return through(l, func() ([]ingest.Queue, error) { return l.store.Queues(ctx) })
}

func (l *line) Claim(ctx context.Context, r ingest.ClaimRequest) ([]ingest.Work, error) {
	return through(l, func() ([]ingest.Work, error) { return l.store.Claim(ctx, r) })
}

func (l *line) Promote(ctx context.Context, n int) (int, error) {
	return through(l, func() (int, error) { return l.store.Promote(ctx, n) })
}

func (l *line) Reap(ctx context.Context, n int) (int, error) {
	return through(l, func() (int, error) { return l.store.Reap(ctx, n) })
}

func (l *line) NextDue(ctx context.Context) (time.Time, error) {
	return through(l, func() (time.Time, error) { return l.store.NextDue(ctx) })
}

func (l *line) Now(ctx context.Context) (time.Time, error) {
	return through(l, func() (time.Time, error) { return l.store.Now(ctx) })
}

func (l *line) Heartbeat(ctx context.Context, e ingest.Process, alive time.Duration) ([]ingest.Process, error) {
	return through(l, func() ([]ingest.Process, error) { return l.store.Heartbeat(ctx, e, alive) })
}

// What the executor asks.

func (l *line) StartRun(ctx context.Context, w ingest.Work, lease time.Duration) (ingest.Run, error) {
	return through(l, func() (ingest.Run, error) { return l.store.StartRun(ctx, w, lease) })
}

func (l *line) CommitBatch(ctx context.Context, b ingest.BatchCommit) (ingest.BatchResult, error) {
	l.writing()
	return through(l, func() (ingest.BatchResult, error) { return l.store.CommitBatch(ctx, b) })
}

// PackBatch asks no database.
func (l *line) PackBatch(records []record.Incoming, answer []byte) []ingest.PackedPart {
	return l.store.PackBatch(records, answer)
}

// LeaveOutItems asks no database either.
func (l *line) LeaveOutItems(records []record.Incoming, answer []byte) []byte {
	return l.store.LeaveOutItems(records, answer)
}

func (l *line) FinishRun(ctx context.Context, f ingest.Finish) error {
	l.writing()
	_, err := through(l, func() (struct{}, error) { return only(l.store.FinishRun(ctx, f)) })
	return err
}

func (l *line) Renew(ctx context.Context, lease ingest.Lease, extend time.Duration) (ingest.Held, error) {
	return through(l, func() (ingest.Held, error) { return l.store.Renew(ctx, lease, extend) })
}

func (l *line) TakeRequests(ctx context.Context, in ingest.RequestTake) (ingest.RequestGrant, error) {
	return through(l, func() (ingest.RequestGrant, error) { return l.store.TakeRequests(ctx, in) })
}

func (l *line) RequestReslice(ctx context.Context, r ingest.ResliceRequest) error {
	_, err := through(l, func() (struct{}, error) { return only(l.store.RequestReslice(ctx, r)) })
	return err
}

func (l *line) LookAtCandidates(ctx context.Context, q ingest.CandidateLook) (ingest.CandidatePage, error) {
	return through(l, func() (ingest.CandidatePage, error) { return l.store.LookAtCandidates(ctx, q) })
}

func (l *line) Parents(ctx context.Context, q ingest.ParentLook) (out []ingest.Parent, next string, last bool, err error) {
	_, err = through(l, func() (struct{}, error) {
		var err error
		out, next, last, err = l.store.Parents(ctx, q)
		return struct{}{}, err
	})
	return out, next, last, err
}

func (l *line) CountParents(ctx context.Context, d ingest.Dataset) (int64, error) {
	return through(l, func() (int64, error) { return l.store.CountParents(ctx, d) })
}

func (l *line) PlanRefusals(ctx context.Context, planID int64) ([]sector.Refusal, error) {
	return through(l, func() ([]sector.Refusal, error) { return l.store.PlanRefusals(ctx, planID) })
}

func (l *line) PlanLeaves(ctx context.Context, planID int64) (sector.LeftOut, error) {
	return through(l, func() (sector.LeftOut, error) { return l.store.PlanLeaves(ctx, planID) })
}

func (l *line) Witnesses(ctx context.Context, datasetID int64, behind [16]byte, n int) ([]string, error) {
	return through(l, func() ([]string, error) { return l.store.Witnesses(ctx, datasetID, behind, n) })
}

type paused struct {
	pause ingest.Pause
	news  bool
}

func (l *line) PauseSource(ctx context.Context, scope ingest.Scope, by ingest.Act) (ingest.Pause, bool, error) {
	p, err := through(l, func() (paused, error) {
		pause, news, err := l.store.PauseSource(ctx, scope, by)
		return paused{pause, news}, err
	})
	return p.pause, p.news, err
}

func (l *line) CancelPlan(ctx context.Context, id int64, actor, reason string) (view.PlanCancel, error) {
	return through(l, func() (view.PlanCancel, error) { return l.store.CancelPlan(ctx, id, actor, reason) })
}

// wired is the client of a process: its requests stop with it.
type wired struct {
	line   *line
	client transport.Sender
}

func (w wired) Send(ctx context.Context, r *exchange.Request) (*exchange.Response, error) {
	if err := w.line.wait(); err != nil {
		return nil, err
	}
	response, err := w.client.Send(ctx, r)
	if dead := w.line.wait(); dead != nil {
		return nil, dead
	}
	return response, err
}

// What the executor asks about lists that are read whole.

func (l *line) OwedFiles(ctx context.Context, sliceID int64, take files.Take) ([]files.Owed, error) {
	return through(l, func() ([]files.Owed, error) { return l.store.OwedFiles(ctx, sliceID, take) })
}

func (l *line) OpenGeneration(ctx context.Context, sliceID int64, unit string) (ingest.Generation, error) {
	return through(l, func() (ingest.Generation, error) { return l.store.OpenGeneration(ctx, sliceID, unit) })
}

func (l *line) KeptGenerations(ctx context.Context, of int64) ([]generation.Kept, error) {
	return through(l, func() ([]generation.Kept, error) { return l.store.KeptGenerations(ctx, of) })
}

func (l *line) GenerationIDs(ctx context.Context, of, after int64, limit int) ([]ingest.IDPage, error) {
	return through(l, func() ([]ingest.IDPage, error) { return l.store.GenerationIDs(ctx, of, after, limit) })
}

func (l *line) JudgesReading(ctx context.Context, of ingest.Lineage) (bool, error) {
	return through(l, func() (bool, error) { return l.store.JudgesReading(ctx, of) })
}

func (l *line) CountActive(ctx context.Context, datasetID int64, most int) (int, error) {
	return through(l, func() (int, error) { return l.store.CountActive(ctx, datasetID, most) })
}

func (l *line) ActiveByHash(ctx context.Context, datasetID int64, hashes []uint64) ([]string, error) {
	return through(l, func() ([]string, error) { return l.store.ActiveByHash(ctx, datasetID, hashes) })
}

func (l *line) SweepGenerations(ctx context.Context) (bool, error) {
	return through(l, func() (bool, error) { return l.store.SweepGenerations(ctx) })
}
