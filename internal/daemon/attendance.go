package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/rategate"
)

// attendance makes this process one of those who share the limits of upstreams
// for as long as it sends, and tells the gate which part is ours (D§5.23). Who
// joins, who leaves and who is counted how long is decided by gate.StakeOf.
type attendance struct {
	app  *App
	door *rategate.Door

	mu        sync.Mutex
	me        gate.Member
	entered   bool          // everybody has made room for us
	leading   bool          // of the executors we joined first
	executing int           // executors of this process
	present   []gate.Member // with the last sign of life
	asking    int           // planners and others who ask an upstream
	visits    int           // of them, those who write nothing while nobody else sends (I13)
	used      time.Time
	stop      context.CancelFunc // nil: we are not there
	ended     chan struct{}
	closed    bool

	there  atomic.Bool // executing, so nobody has to look whether we are
	beatMu sync.Mutex  // one sign of life at a time
}

func newAttendance(a *App) *attendance { return &attendance{app: a, door: rategate.NewDoor()} }

const (
	// lookEvery is how often a process looks that waits for others, or for whom
	// others wait.
	lookEvery = 100 * time.Millisecond
	// leaveAfter is how long a process that does not execute stays after its last
	// request: the next one may follow at once.
	leaveAfter = 3 * time.Second
)

// joinAsExecutor joins as an executor; the returned function leaves again. After leaving, no
// request may be sent, so callers leave first and say their last words to the store
// afterwards. A process that had joined only to ask leaves before it joins again: the order
// of ranks must not change under the others.
func (t *attendance) joinAsExecutor(ctx context.Context) (leave func(), err error) {
	t.mu.Lock()
	t.executing++
	t.there.Store(true)
	again := t.stop != nil && !t.me.Executes && t.asking == 0
	t.mu.Unlock()
	if again {
		t.leaveMembers()
	}
	err = t.startBeating(ctx)
	return func() {
		t.mu.Lock()
		t.executing--
		last := t.executing == 0
		t.there.Store(!last)
		t.mu.Unlock()
		if last {
			t.leaveMembers()
		}
	}, err
}

// joinToAsk joins as a process that asks. It stays for a moment after it has left, because
// the next question may follow. Dead processes of this machine are removed first; else the
// join would wait until their membership is void.
func (t *attendance) joinToAsk(ctx context.Context) (leave func(), err error) {
	if t.app.config.MustExist {
		return t.joinAsking(ctx, 1)
	}
	if err := t.app.buryDead(ctx); err != nil {
		return nil, err
	}
	return t.joinAsking(ctx, 0)
}

// joinWithoutWriting does what joinToAsk does for commands that must write nothing. Where
// other processes send, it joins them all the same: politeness comes first (I11).
func (t *attendance) joinWithoutWriting(ctx context.Context) (leave func(), err error) {
	return t.joinAsking(ctx, 1)
}

func (t *attendance) joinAsking(ctx context.Context, visits int) (leave func(), err error) {
	change := func(by int) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.asking, t.visits, t.used = t.asking+by, t.visits+by*visits, time.Now()
	}
	change(+1)
	leave = func() { change(-1) }
	if err := t.startBeating(ctx); err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}

// joinIfAbsent joins for a request whose sender has not joined before.
func (t *attendance) joinIfAbsent(ctx context.Context) error {
	if t.there.Load() {
		return nil
	}
	t.mu.Lock()
	t.used = time.Now()
	t.mu.Unlock()
	_ = t.startBeating(ctx) // the door stays closed until a sign of life comes through
	return ctx.Err()
}

// startBeating gives a sign of life, and keeps giving them in the background.
func (t *attendance) startBeating(ctx context.Context) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	started := t.stop == nil
	if started {
		var running context.Context
		running, t.stop = context.WithCancel(context.WithoutCancel(ctx))
		t.ended = make(chan struct{})
		go t.beatUntilDone(running, t.ended)
	}
	t.mu.Unlock()
	if !started {
		return nil
	}
	return t.giveFirstSign(ctx)
}

// firstSigns is how often the first sign of life is tried, each time for gate.HoldFor.
const firstSigns = 10

// giveFirstSign gives the first sign of life. A database that is busy with the writes of
// other processes may let it wait for longer than a sign is good for; that is no reason to
// end a command that has not begun. Until a sign comes through the door stays closed, so
// nothing is sent meanwhile.
func (t *attendance) giveFirstSign(ctx context.Context) (err error) {
	for range firstSigns {
		if _, err = t.giveSignOfLife(ctx); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
		t.app.config.Log.Warn("the database is busy: the first sign of life is tried again", "error", err)
	}
	return err
}

func (t *attendance) beatUntilDone(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if t.isIdle() {
			go t.endSession(ended) // waits for us
			<-ctx.Done()
			return
		}
		settled, err := t.giveSignOfLife(ctx)
		if err == nil && t.there.Load() {
			t.app.buryAmong(ctx, t.lastMembers())
		}
		if err != nil && ctx.Err() == nil {
			t.app.config.Log.Warn("sign of life failed; without one nothing is sent", "error", err)
		}
		if settled || err != nil {
			timer.Reset(gate.BeatEvery)
		} else {
			timer.Reset(lookEvery)
		}
	}
}

func (t *attendance) isIdle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.executing == 0 && t.asking == 0 && time.Since(t.used) > leaveAfter
}

// giveSignOfLife tells the others that this process lives, learns who is there, and keeps to
// our part of the limits. settled: no process waits for another.
func (t *attendance) giveSignOfLife(ctx context.Context) (settled bool, err error) {
	t.beatMu.Lock()
	defer t.beatMu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, gate.HoldFor)
	defer cancel()
	for {
		asked := time.Now()
		members, stake, err := t.readMembers(ctx)
		if err != nil {
			return false, err
		}
		last := gate.LastJoined(members)
		room, err := t.app.gate.MakeRoom(ctx)
		t.openDoor(stake, room, asked)
		if err != nil || !room {
			return false, err
		}
		if !t.noteRoomMade(last) {
			return stake.Takes && last > 0, nil // a visitor looks often: nobody waits for it
		}
	}
}

// noteRoomMade notes that we have made room for all who joined, and reports whether
// they have to be told.
func (t *attendance) noteRoomMade(last int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.me.Seen >= last {
		return false
	}
	t.me.Seen = last
	return true
}

func (t *attendance) readMembers(ctx context.Context) ([]gate.Member, gate.Stake, error) {
	t.mu.Lock()
	if t.me.No == 0 {
		t.me = gate.Member{ID: t.app.identity.ID, Executes: t.executing > 0}
	}
	me, gone := t.me, t.closed || t.stop == nil
	visits := me.No == 0 && t.executing == 0 && t.asking == t.visits && (t.visits > 0 || t.app.config.MustExist)
	t.mu.Unlock()
	if gone {
		return nil, gate.Stake{}, context.Canceled
	}
	if visits {
		others, err := t.app.store.RateMembers(ctx)
		if err != nil {
			return nil, gate.Stake{}, err
		}
		if len(others) == 0 {
			t.app.setShare(0, 1)
			return nil, gate.Stake{N: 1, Takes: true}, nil
		}
	}
	members, err := t.app.store.Attend(ctx, me, gate.VoidAfter)
	if err != nil {
		return nil, gate.Stake{}, err
	}
	t.noteMembers(members)
	stake := gate.StakeOf(me.ID, members)
	t.app.setShare(stake.Rank, stake.N)
	return members, stake, nil
}

// openDoor opens the door and keeps it open. It opens for the first time when no more
// requests are under way than our part allows; more may be under way if we were stopped for
// long.
func (t *attendance) openDoor(stake gate.Stake, room bool, asked time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entered = stake.Takes && (t.entered || room)
	t.door.Set(t.entered, asked.Add(gate.HoldFor))
}

// isFirstExecutor reports whether we are the executor that joined first, as of the last sign
// of life.
func (t *attendance) isFirstExecutor() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leading
}

// lastMembers returns the members at the time of the last sign of life.
func (t *attendance) lastMembers() []gate.Member {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.present
}

// noteMembers takes over the number we were given.
func (t *attendance) noteMembers(members []gate.Member) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leading, t.present = gate.Leads(t.me.ID, members), members
	for _, m := range members {
		if m.ID == t.me.ID && m.No != t.me.No {
			t.me.No, t.me.Seen, t.entered = m.No, m.Seen, false
		}
	}
}

// leaveMembers closes the door and tells the others.
func (t *attendance) leaveMembers() {
	t.mu.Lock()
	session := t.ended
	t.mu.Unlock()
	t.endSession(session)
}

// endSession ends a session unless it is over already: a process that leaves because nothing
// was asked for a while must not end a session that began meanwhile.
func (t *attendance) endSession(session chan<- struct{}) {
	t.mu.Lock()
	stop, ended := t.stop, t.ended
	if stop == nil || ended != session {
		t.mu.Unlock()
		return
	}
	t.stop = nil
	t.mu.Unlock()
	stop()
	<-ended
	t.beatMu.Lock()
	defer t.beatMu.Unlock()
	t.door.Set(false, time.Time{})
	t.mu.Lock()
	known := t.me.No > 0
	t.me, t.entered, t.leading = gate.Member{}, false, false
	t.mu.Unlock()
	if !known {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	_ = t.app.store.Depart(ctx, t.app.identity.ID) // what is left becomes void automatically
}

// closeForGood leaves, and never joins again.
func (t *attendance) closeForGood() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.leaveMembers()
}

// hasRole reports whether a process has a role.
func hasRole(e ingest.Process, r Role) bool {
	return slices.Contains(strings.Split(e.Roles, ","), string(r))
}
