package outbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/crash"
)

// batch is some events of a dataset on their way.
type batch struct {
	*bench
	now     time.Time // by the store's clock
	began   time.Time
	changes []event.Change
	again   bool            // they failed before
	behind  map[string]bool // keys with an older event that is not delivered
	out     event.Settlement
	parts   map[string]*part
	trouble error
}

// part is what one destination gets of a batch.
type part struct {
	events    []event.Sealed
	changes   []event.Change
	answers   []error
	tried     int
	delivered int
	first     int64
	last      int64
	refused   []event.Failure
	refusal   error // the last one
	trouble   error
}

// settleBatch publishes the batch and writes down what became of it.
func (b *batch) settleBatch(ctx context.Context) (settled int, err error) {
	if len(b.changes) == 0 {
		return 0, nil
	}
	b.out = event.Settlement{Claim: b.claim, DatasetID: b.lane.DatasetID}
	b.parts = map[string]*part{}
	for _, wave := range event.Waves(b.changes) {
		if b.publishWave(ctx, wave); b.trouble != nil || ctx.Err() != nil {
			break
		}
	}
	b.sumAttempts()
	settled = len(b.out.Published) + len(b.out.Skipped) + len(b.out.Behind) + len(b.out.Failed)
	if settled > 0 || len(b.out.Attempts) > 0 {
		crash.At(crash.Published)
		// What was delivered is settled also when we are told to stop: else it would be
		// published twice without need.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(lastWords, b.claim.Lease))
		defer cancel()
		if err := b.relay.store.SettleEvents(last, b.out); err != nil {
			return 0, err
		}
		b.relay.addSettled(b.out)
	}
	if b.trouble != nil && ctx.Err() == nil {
		return settled, errTrouble{b.trouble}
	}
	return settled, nil
}

// publishWave publishes events with different keys.
func (b *batch) publishWave(ctx context.Context, wave []event.Change) {
	sending := map[string]*part{}
	for _, c := range wave {
		if b.behind[c.Key] {
			b.out.Behind = append(b.out.Behind, c.Row)
			continue
		}
		if c.NoBody {
			b.refuseChange(c, event.BodyGone, bodyError(c))
			continue
		}
		name, ok := b.relay.route(c.Source, c.Endpoint, c.Op)
		to, known := b.relay.destinations[name]
		if !ok || !known {
			b.out.Skipped = append(b.out.Skipped, c.Row)
			continue
		}
		sealed, err := b.rooms.events.Seal(c, to.Form)
		if err != nil {
			b.refuseChange(c, event.TooLarge, err)
			continue
		}
		p := sending[name]
		if p == nil {
			p = &part{events: make([]event.Sealed, 0, len(wave)), changes: make([]event.Change, 0, len(wave))}
			sending[name] = p
		}
		p.events, p.changes = append(p.events, sealed), append(p.changes, c)
	}
	var publishing sync.WaitGroup
	for name, p := range sending {
		publishing.Go(func() { p.answers = b.relay.destinations[name].Publisher.Publish(ctx, p.events) })
	}
	publishing.Wait()
	for _, name := range slices.Sorted(maps.Keys(sending)) {
		b.judgeAnswers(name, sending[name])
	}
}

// bodyError returns why an event without a body cannot be published.
func bodyError(c event.Change) error {
	if c.Damaged != nil {
		return fmt.Errorf("the version of the record that the event tells of cannot be read: %w", c.Damaged)
	}
	return errors.New("the version of the record that the event tells of is not there")
}

func (b *batch) refuseChange(c event.Change, f event.Fault, err error) {
	b.behind[c.Key] = true
	b.out.Failed = append(b.out.Failed, event.Refusal(c, f, err, b.now))
}

// judgeAnswers adds the answers of a receiver to what it said before.
func (b *batch) judgeAnswers(name string, sent *part) {
	p := b.parts[name]
	if p == nil {
		p = &part{first: sent.changes[0].Row}
		b.parts[name] = p
	}
	for i, c := range sent.changes {
		p.tried, p.first, p.last = p.tried+1, min(p.first, c.Row), max(p.last, c.Row)
		answer := errors.New("the publisher gave no answer")
		if i < len(sent.answers) {
			answer = sent.answers[i]
		}
		switch {
		case answer == nil:
			p.delivered++
			b.out.Published = append(b.out.Published, c.Row)
			continue
		case errors.Is(answer, event.ErrTooLarge):
			p.refused, p.refusal = append(p.refused, event.Refusal(c, event.TooLarge, answer, b.now)), answer
		case errors.Is(answer, event.ErrRefused):
			p.refused, p.refusal = append(p.refused, event.Refusal(c, event.Refused, answer, b.now)), answer
		default:
			p.trouble = answer
			b.trouble = fmt.Errorf("destination %s: %w", name, answer)
		}
		b.behind[c.Key] = true
	}
}

// refusesAll: a receiver that wants none of as many events is not right itself.
const refusesAll = 10

// sumAttempts ends the attempt of each destination.
func (b *batch) sumAttempts() {
	for _, name := range slices.Sorted(maps.Keys(b.parts)) {
		p := b.parts[name]
		b.attempts++
		a := event.Attempt{
			No: b.attempts, Destination: name, Outcome: event.Delivered, First: p.first, Last: p.last, Events: p.tried, Delivered: p.delivered,
			StartedAt: b.now, EndedAt: b.now.Add(time.Since(b.began)),
		}
		if len(p.refused) >= refusesAll && p.delivered == 0 && !b.again && p.trouble == nil {
			p.trouble = fmt.Errorf("it refused all %d events, so the fault is probably the destination's own and the events stay queued: %w", len(p.refused), p.refusal)
			b.trouble = fmt.Errorf("destination %s: %w", name, p.trouble)
			p.refused = nil
			b.out.Behind = nil // they wait as they are
		}
		b.out.Failed = append(b.out.Failed, p.refused...)
		switch {
		case p.trouble != nil:
			a.Outcome, a.Fault, a.Text = event.Deferred, event.Unreachable, p.trouble.Error()
		case p.refusal != nil:
			a.Outcome, a.Fault, a.Text = event.Rejected, p.refused[len(p.refused)-1].Fault, p.refusal.Error()
		}
		b.out.Attempts = append(b.out.Attempts, a)
	}
}
