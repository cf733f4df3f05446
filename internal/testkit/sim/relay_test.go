package sim

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/outbox"
)

// relays is how many of them publish at once; relayPoll is how often one looks: a
// world may need days to come to rest.
const (
	relays    = 3
	relayPoll = 20 * time.Second
	away      = 4 * time.Minute // every other time: versions of a record pile up
)

var (
	errRelayDead    = errors.New("this relay is dead")
	errReceiverAway = errors.New("the receiver is away")
)

// receiver gets the events. It keeps of each what I9 is about.
type receiver struct {
	mu      sync.Mutex
	random  *rand.Rand
	faulty  bool
	bytes   map[string][32]byte // by id
	version map[string]int      // the last one by record
	twice   int
	broken  []string
}

func (r *receiver) set(faulty bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faulty = faulty
}

// Publish takes events, or some of them, and may say that it did not.
func (r *receiver) Publish(ctx context.Context, events []event.Sealed) []error {
	answers := make([]error, len(events))
	for i, e := range events {
		if answers[i] = ctx.Err(); answers[i] == nil {
			answers[i] = r.take(e)
		}
	}
	return answers
}

func (r *receiver) take(e event.Sealed) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.faulty && time.Now().Unix()/int64(away.Seconds())%2 == 0 {
		return errReceiverAway
	}
	var answer error
	if r.faulty && r.random.IntN(200) == 0 {
		if answer = errReceiverAway; r.random.IntN(2) == 0 {
			return answer
		} // else it took the event, and the answer is lost
	}
	sum := sha256.Sum256(e.Bytes)
	if was, again := r.bytes[e.ID]; again {
		if r.twice++; was != sum {
			r.broken = append(r.broken, "I9: "+e.ID+" came twice, with other bytes")
		}
		return answer
	}
	r.bytes[e.ID] = sum
	var told struct {
		Source, Subject string
		Version         int `json:"patraversion,string"`
	}
	if err := json.Unmarshal(e.Bytes, &told); err != nil {
		r.broken = append(r.broken, fmt.Sprintf("I9: %s: %v", e.Bytes, err))
	}
	record := told.Source + " " + told.Subject
	if told.Version != r.version[record]+1 {
		r.broken = append(r.broken, fmt.Sprintf("I9: version %d of %s came after version %d", told.Version, record, r.version[record]))
	}
	r.version[record] = told.Version
	return answer
}

// mortal is the store of a relay that may die or stand still between publishing and
// marking.
type mortal struct {
	*store.Store
	w      *world
	random *rand.Rand
	stop   context.CancelFunc

	mu   sync.Mutex
	dead bool
}

func (m *mortal) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errRelayDead
	}
	return nil
}

func (m *mortal) SettleEvents(ctx context.Context, s event.Settlement) error {
	m.mu.Lock()
	chance := m.random.IntN(20)
	m.mu.Unlock()
	switch {
	case m.w.calmed():
	case chance == 0:
		m.mu.Lock()
		m.dead = true
		m.mu.Unlock()
		m.stop()
		m.w.count("relays that died before marking")
	case chance == 1:
		pass(m.w.ctx, lease+about(m.w.random("frozen relay", s.Epoch), lease)) // its lease is another's now
	}
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.SettleEvents(ctx, s)
}

func (m *mortal) RenewLease(ctx context.Context, name, owner string, epoch int64, ttl time.Duration) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.RenewLease(ctx, name, owner, epoch, ttl)
}

func (m *mortal) ReleaseLease(ctx context.Context, name, owner string, epoch int64) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.ReleaseLease(ctx, name, owner, epoch)
}

// relay is a place where one relay after the other runs.
func (w *world) relay(n int) {
	random := w.random("relay", n)
	for generation := 1; w.ctx.Err() == nil; generation++ {
		ctx, stop := context.WithCancel(w.ctx)
		m := &mortal{Store: w.store, w: w, random: w.random("mortal", n, generation), stop: stop}
		r := outbox.New(m, func(string, string, event.Op) (string, bool) { return "to", true }, map[string]outbox.Destination{"to": {Publisher: w.receiver}},
			outbox.Config{Owner: fmt.Sprintf("r%d-%d", n, generation), Lease: lease, Poll: relayPoll}, w.log.With("relay", n))
		stopAfter := about(random, 5*time.Minute) // drawn here: the goroutine of the relay before may still be about to begin
		go func() {                               // some are asked to stop
			if w.pass(stopAfter) {
				stop()
			}
		}()
		_ = r.Run(ctx)
		stop()
		pass(w.ctx, time.Second)
	}
}

// delivered waits until every event was published.
func (w *world) delivered() {
	for since := time.Now(); ; pass(w.ctx, relayPoll) {
		lanes, err := w.store.OutboxLanes(w.ctx)
		w.must(err)
		if len(lanes) == 0 {
			return
		}
		if time.Since(since) > time.Hour {
			w.Errorf("I9: events of %v still wait an hour after everything else is at rest", lanes)
			return
		}
	}
}

// arrived holds what the receiver got against the outbox (I9).
func (w *world) arrived(events int) (problems []string) {
	r := w.receiver
	if len(r.bytes) != events {
		problems = append(problems, fmt.Sprintf("I9: %d events in the outbox, %d different ones arrived", events, len(r.bytes)))
	}
	w.tally["events that came twice"] = r.twice
	return append(problems, r.broken...)
}
