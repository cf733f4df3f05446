package alert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

// world is a store in memory, with findings and receivers that do as they are told.
type world struct {
	t  *testing.T
	mu sync.Mutex

	owner string
	epoch int64
	until time.Time

	found    []view.Finding
	lookFail error
	away     error // the database does not answer
	noteFail error

	kept  []alert.Kept
	queue []alert.Delivery

	got      []string         // what arrived: who sent, receiver, kind
	ids      []string         // of those
	failing  map[string]error // receivers
	blocking map[string]bool  // receivers that never answer
}

func inBubble(t *testing.T, body func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		body(&world{t: t, failing: map[string]error{}, blocking: map[string]bool{}})
	})
}

func (w *world) AcquireLease(_ context.Context, _, owner string, ttl time.Duration) (int64, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away != nil || w.owner != "" && w.owner != owner && time.Now().Before(w.until) {
		return 0, false, w.away
	}
	w.owner, w.epoch, w.until = owner, w.epoch+1, time.Now().Add(ttl)
	return w.epoch, true, nil
}

func (w *world) RenewLease(_ context.Context, _, owner string, epoch int64, ttl time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.away == nil && (w.owner != owner || w.epoch != epoch) {
		return fault.ErrStale
	}
	w.until = time.Now().Add(ttl)
	return w.away
}

func (w *world) ReleaseLease(_ context.Context, _, owner string, epoch int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner == owner && w.epoch == epoch {
		w.owner = ""
	}
	return w.away
}

func (w *world) DecideAlerts(_ context.Context, l alert.Lease, c alert.Config, found []view.Finding) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.owner != l.Owner || w.epoch != l.Epoch {
		return 0, fault.ErrStale
	}
	d := c.Decide(time.Now(), found, slices.Clone(w.kept), nil)
	w.kept = slices.DeleteFunc(w.kept, func(k alert.Kept) bool { return k.State.Live() })
	w.kept = append(w.kept, d.Keep...)
	for _, a := range d.Messages {
		w.queue = append(w.queue, alert.Delivery{ID: int64(len(w.queue) + 1), Receiver: a.Receiver, Message: a.Message, Status: alert.Queued, DueAt: time.Now(), QueuedAt: time.Now()})
	}
	return len(d.Messages), nil
}

func (w *world) DueAlertMessages(context.Context) (out []alert.Delivery, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]bool{}
	for _, d := range w.queue {
		if d.Status != alert.Queued || seen[d.Receiver] {
			continue
		}
		if seen[d.Receiver] = true; !d.DueAt.After(time.Now()) {
			out = append(out, d)
		}
	}
	return out, w.away
}

func (w *world) NoteAlertTry(_ context.Context, d alert.Delivery, failure string, refused bool) (alert.Delivery, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.noteFail != nil {
		return d, w.noteFail
	}
	w.queue[d.ID-1] = d.AfterTry(time.Now(), failure, refused)
	return w.queue[d.ID-1], nil
}

func (w *world) PruneAlerts(context.Context, time.Time, int) error { return nil }

// line is the way of one process to one receiver.
type line struct {
	w              *world
	from, receiver string
}

func (l line) Send(ctx context.Context, m alert.Message) error {
	l.w.mu.Lock()
	fails, blocks := l.w.failing[l.receiver], l.w.blocking[l.receiver]
	if fails == nil && !blocks {
		l.w.got, l.w.ids = append(l.w.got, fmt.Sprintf("%s>%s %s %d", l.from, l.receiver, m.Kind, len(m.Alerts))), append(l.w.ids, m.ID)
	}
	l.w.mu.Unlock()
	if blocks {
		<-ctx.Done()
		return ctx.Err()
	}
	return fails
}

// start runs a process until it is stopped.
func (w *world) start(name string, receivers ...string) (stop func()) {
	declared := alert.Config{Receivers: map[string]alert.Receiver{}, Rules: map[string]alert.Rule{"all": {For: alert.AtOnce}}}
	senders := map[string]Sender{}
	for _, r := range receivers {
		declared.Receivers[r], senders[r] = alert.Receiver{}, line{w, name, r}
	}
	find := func(context.Context) ([]view.Finding, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.found, w.lookFail
	}
	s := New(w, find, Config{Owner: name, Declared: declared, Senders: senders}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Run(ctx); !errors.Is(err, context.Canceled) {
			w.t.Errorf("%s ended with %v", name, err)
		}
	}()
	w.t.Cleanup(cancel)
	return func() { cancel(); <-ended }
}

func (w *world) do(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// pass lets time go by.
func (w *world) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// heard compares what arrived since the last call.
func (w *world) heard(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.got, want) {
		w.t.Errorf("heard %q, want %q", w.got, want)
	}
	w.got = nil
}

func paused(source string) view.Finding {
	return view.Finding{Code: view.FoundQuarantined, Subject: view.Subject{Source: source}, Count: 1}.Complete(threshold.Default(), time.Now())
}

// One process tells; when it stops, another goes on, and nothing is told twice.
func TestOneProcessTells(t *testing.T) {
	inBubble(t, func(w *world) {
		stopA := w.start("a", "mail")
		w.pass(time.Second)
		defer w.start("b", "mail")()
		w.do(func() { w.found = []view.Finding{paused("s")} })
		w.pass(5 * time.Minute)
		w.heard("a>mail FIRING 1")
		stopA()
		w.pass(time.Minute)
		w.do(func() { w.found = nil })
		w.pass(10 * time.Minute)
		w.heard("b>mail RESOLVED 1")
	})
}

// A delivery that could not be noted is sent again under the same id.
func TestWhatWasNotNotedIsSentAgainWithTheSameID(t *testing.T) {
	inBubble(t, func(w *world) {
		w.found, w.noteFail = []view.Finding{paused("s")}, fault.ErrBusy
		defer w.start("a", "mail")()
		w.pass(time.Second)
		w.do(func() { w.noteFail = nil })
		w.pass(time.Minute)
		w.heard("a>mail FIRING 1", "a>mail FIRING 1")
		if w.ids[0] != w.ids[1] {
			t.Errorf("two ids: %v", w.ids)
		}
		w.pass(time.Hour)
		w.heard()
	})
}

// A receiver that is dead or never answers holds no other.
func TestADeadReceiverHoldsNoOther(t *testing.T) {
	inBubble(t, func(w *world) {
		w.found = []view.Finding{paused("a")}
		w.failing["dead"], w.blocking["slow"] = errors.New("connection refused"), true
		defer w.start("p", "dead", "mail", "slow")()
		w.pass(2 * time.Minute)
		w.heard("p>mail FIRING 1")
		w.do(func() { w.found = append(w.found, paused("b")) })
		w.pass(2 * time.Minute)
		w.heard("p>mail FIRING 1")
		w.do(func() { w.failing["dead"], w.blocking["slow"] = nil, false })
		w.pass(30 * time.Minute)
		slices.Sort(w.got)
		w.heard("p>dead FIRING 1", "p>dead FIRING 1", "p>slow FIRING 1", "p>slow FIRING 1")
	})
}

// A refusal is final, and what is behind it goes on.
func TestARefusedMessageIsGivenUp(t *testing.T) {
	inBubble(t, func(w *world) {
		w.found, w.failing["mail"] = []view.Finding{paused("a")}, fmt.Errorf("401: %w", alert.ErrRefused)
		defer w.start("p", "mail")()
		w.pass(time.Second)
		w.do(func() { w.failing["mail"], w.found = nil, append(w.found, paused("b")) })
		w.pass(time.Minute)
		w.heard("p>mail FIRING 1")
		if w.queue[0].Status != alert.GivenUp || w.queue[0].Tries != 1 {
			t.Errorf("%+v", w.queue[0])
		}
	})
}

// A look that failed ends nothing; one that fails for long is told all the same.
func TestAFailedLookDecidesNothing(t *testing.T) {
	inBubble(t, func(w *world) {
		w.found = []view.Finding{paused("s")}
		defer w.start("a", "mail")()
		w.pass(time.Second)
		w.heard("a>mail FIRING 1")
		w.do(func() { w.lookFail = errors.New("a table cannot be read") })
		w.pass(time.Minute)
		w.heard()
		w.pass(2 * time.Hour)
		w.heard("a>mail FIRING 1") // that nothing can be told
		w.do(func() { w.lookFail = nil })
		w.pass(time.Minute)
		w.heard("a>mail RESOLVED 1")
		if w.kept[0].State != alert.Open {
			t.Errorf("%+v", w.kept[0])
		}
	})
}

// A database that is away is told without it, once by each process and with one id, and so
// is its return.
func TestADatabaseThatIsAwayIsTold(t *testing.T) {
	inBubble(t, func(w *world) {
		for _, name := range []string{"a", "b"} {
			defer w.start(name, "mail")()
			w.pass(time.Second)
		}
		w.do(func() { w.away = errors.New("connection refused") })
		w.pass(alert.UsualFor - time.Minute)
		w.heard()
		w.pass(10 * time.Minute)
		w.heard("a>mail FIRING 1", "b>mail FIRING 1")
		w.do(func() { w.away = nil })
		w.pass(time.Minute)
		w.heard("a>mail RESOLVED 1", "b>mail RESOLVED 1")
		if w.ids[0] != w.ids[1] || w.ids[2] != w.ids[3] || w.ids[0] == w.ids[2] {
			t.Errorf("ids: %v", w.ids)
		}
		w.pass(time.Hour)
		w.heard()
	})
}

// A disk that is full is told with its path, what is left of it, and how to make room.
func TestAFullDiskIsToldWithItsPath(t *testing.T) {
	disk := view.Disk{Path: "/srv/patra", Holds: []string{view.HoldsDatabase}, Total: 40e9, Free: 12e3}
	found := []view.Finding{{Code: view.FoundDiskLow, Disk: &disk}}
	s := New(nil, func(context.Context) ([]view.Finding, error) { return found, nil }, Config{}, slog.New(slog.DiscardHandler))
	full := fmt.Errorf("commit: %w", fault.ErrFull)
	if got := s.outageAlert(t.Context(), full); got.Next != "df -h /srv/patra" || !strings.Contains(got.Text, "(/srv/patra: 12 kB of 40 GB are free)") || !strings.Contains(got.Text, "--raw-max") {
		t.Errorf("%+v", got)
	}
	found = nil // it is the server's
	if got := s.outageAlert(t.Context(), full); got.Next != "df -h" || !strings.Contains(got.Text, "its disk is full: make room") {
		t.Errorf("%+v", got)
	}
}

// A day with three causes whose findings flicker, whose texts change, whose source cannot be
// computed now and then, and with looks that fail and processes that come and go: each
// cause is told once, repeated at its interval, and resolved once.
func TestADayWithoutFlapping(t *testing.T) {
	inBubble(t, func(w *world) {
		chance := rand.New(rand.NewPCG(1, 2))
		began := time.Now()
		lasts := map[string][2]time.Duration{"a": {time.Hour, 5 * time.Hour}, "b": {2 * time.Hour, 23 * time.Hour}, "c": {10 * time.Hour, 11 * time.Hour}}
		findings := func() (out []view.Finding) {
			for _, source := range []string{"a", "b", "c"} {
				since := time.Since(began)
				if since < lasts[source][0] || since > lasts[source][1] {
					continue
				}
				switch first := since < lasts[source][0]+2*time.Minute; {
				case !first && chance.IntN(10) == 0: // not seen by one look
				case !first && chance.IntN(20) == 0:
					out = append(out, view.Finding{Code: view.FoundUncomputable, Subject: view.Subject{Source: source}, Heals: true}.Complete(threshold.Default(), time.Now()))
				default:
					f := paused(source)
					f.Count = chance.IntN(1000)
					out = append(out, f)
				}
			}
			return out
		}
		stop := w.start("p0", "mail")
		for minute := range 24 * 60 {
			w.do(func() {
				w.found, w.lookFail = findings(), nil
				if chance.IntN(15) == 0 {
					w.lookFail = errors.New("busy")
				}
			})
			w.pass(time.Minute)
			if minute%97 == 0 {
				stop()
				stop = w.start(fmt.Sprint("p", minute), "mail")
			}
		}
		stop()
		count := map[string]int{}
		for _, d := range w.queue {
			for _, a := range d.Message.Alerts {
				count[a.Subject.Source+" "+string(d.Message.Kind)]++
			}
		}
		for what, want := range map[string][2]int{
			"a FIRING": {1, 1}, "a RESOLVED": {1, 1}, "a REPEATED": {0, 1}, "b FIRING": {1, 1}, "b RESOLVED": {1, 1}, "b REPEATED": {4, 5},
			"c FIRING": {1, 1}, "c RESOLVED": {1, 1}, "c REPEATED": {0, 0},
		} {
			if n := count[what]; n < want[0] || n > want[1] {
				t.Errorf("%s: %d times, want %v", what, n, want)
			}
		}
	})
}
