package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/view"
)

// life keeps this process in the list of those that live.
type life struct {
	app   *App
	noted time.Time // slot of which the length of the queue is known
}

func newLife(a *App) *life { return &life{app: a} }

// beats per lease: two may be lost before others think us dead.
const beats = 3

func (l *life) giveSignOfLife(ctx context.Context) error {
	_, err := l.app.store.Heartbeat(ctx, l.app.identity, l.app.config.Lease)
	return err
}

// noteQueue keeps how long the queue is, once per slot: one process that lives is enough, and
// the store takes what comes first.
func (l *life) noteQueue(ctx context.Context, now time.Time) {
	slot := view.ShortSlot.Start(now)
	if !slot.After(l.noted) {
		return
	}
	if err := l.app.store.NoteQueue(ctx); err != nil {
		if ctx.Err() == nil {
			l.app.config.Log.Warn("the length of the queue could not be noted; it is tried again", "error", err)
		}
		return
	}
	l.noted = slot
}

func (l *life) beatUntilDone(ctx context.Context) {
	ticker := time.NewTicker(l.app.config.Lease / beats)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := l.giveSignOfLife(ctx); err != nil && ctx.Err() == nil {
				l.app.config.Log.Warn("heartbeat failed", "error", err)
			}
			l.noteQueue(ctx, time.Now())
		}
	}
}

// attendUntilDone keeps a process in the list that plans or publishes and executes nothing,
// so that its death is noticed. It takes no share of any limit.
func (l *life) attendUntilDone(ctx context.Context) {
	if err := l.giveSignOfLife(ctx); err != nil && ctx.Err() == nil {
		l.app.config.Log.Warn("the first sign of life failed; it is tried again", "error", err)
	}
	l.beatUntilDone(ctx)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	_ = l.app.store.Farewell(last, l.app.identity.ID) // a leftover row expires automatically
}

// executorRight is the right of a process to execute. On a server every process has it.
// Where the store takes one executor, it belongs to the process that joined first, which
// keeps it until it leaves: a later process must not take it, nor the requests of tasks
// that are under way. Processes that wait for it send nothing, so they are not among
// those that share the limits.
type executorRight struct {
	app *App

	mu    sync.Mutex
	leave func() // nil: we have not joined
}

// takeRight reports whether we may claim tasks, and joins if we may. A process that
// waits asks again each time, to take over as soon as the right is free.
func (t *executorRight) takeRight(ctx context.Context) (bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leave != nil {
		return t.isOurs(), nil
	}
	if taken, err := t.isTaken(ctx); err != nil || taken {
		return false, err
	}
	leave, err := t.app.attendance.joinAsExecutor(ctx)
	if err != nil {
		leave()
		return false, err
	}
	if !t.isOurs() { // another one was quicker
		leave()
		return false, nil
	}
	t.leave = leave
	return true, nil
}

func (t *executorRight) isOurs() bool { return !t.app.single || t.app.attendance.isFirstExecutor() }

// isTaken reports whether another process has the right. One of this machine that is
// no longer running has lost it.
func (t *executorRight) isTaken(ctx context.Context) (bool, error) {
	if !t.app.single {
		return false, nil
	}
	if err := t.app.buryDead(ctx); err != nil {
		return false, err
	}
	members, err := t.app.store.RateMembers(ctx)
	return slices.ContainsFunc(members, func(m gate.Member) bool { return m.Executes && m.ID != t.app.identity.ID }), err
}

// giveBack gives the right back.
func (t *executorRight) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leave != nil {
		t.leave()
	}
}
