// Package outboxtest is the definition of a publisher of events: what one must do
// when its receiver is down, slow, killed, loses its answers, gives them twice or
// hears everything twice (F45). Every publisher must pass it; one more, for another broker, is a Broker
// here and nothing else. Relay runs the real relay over a real database into the
// publisher, with the same faults.
//
// It must never look into a publisher: only at what it answers and at what its
// receiver got.
package outboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
)

// Publisher is what is tested.
type Publisher interface {
	Publish(ctx context.Context, events []event.Sealed) []error
	Close() error
}

// Message is an event as a receiver got it.
type Message struct {
	ID    string
	Bytes []byte
}

// Broker is a receiver that belongs to one test, and its faults.
type Broker struct {
	// Open gives a publisher that publishes to it.
	Open func(t *testing.T) Publisher
	// Received is all that arrived and that the receiver keeps, in order, also what
	// came twice if it does not drop that.
	Received func(t *testing.T) []Message
	// Down makes it unreachable at once, also for what is on its way; Up ends that.
	Down, Up func(t *testing.T)
	// Hold lets events arrive, but no answer leaves until Free. Reached waits for the
	// first one that arrived since.
	Hold, Free func(t *testing.T)
	Reached    func(t *testing.T)
	// Double lets every answer arrive twice until Single; nil: it gives none, or they
	// say by nothing but their place which event they are about, as over HTTP.
	Double, Single func(t *testing.T)
	// Uninterruptible: who waits for an answer cannot be told to stop.
	Uninterruptible bool
	// TooLarge is a size that the receiver does not take; zero: it takes all.
	TooLarge int
	// Refuse makes it refuse one event for good; nil: it never does so.
	Refuse func(t *testing.T, id string)
}

// Run holds a publisher to the definition.
func Run(t *testing.T, broker func(t *testing.T) Broker) {
	for _, topic := range []struct {
		name string
		run  func(*world)
	}{
		{"delivers", testDelivers},
		{"nothing to deliver", testNothing},
		{"twice", testTwice},
		{"down", testDown},
		{"down from the start", downFromTheStart},
		{"slow", testSlow},
		{"told to stop", toldToStop},
		{"answers lost", answersLost},
		{"answers twice", answersTwice},
		{"killed again and again", testKilled},
		{"too large", tooLarge},
		{"refused", testRefused},
		{"foreign text", foreignText},
		{"many at once", manyAtOnce},
		{"relay", testRelayed},
	} {
		t.Run(topic.name, func(t *testing.T) { topic.run(newWorld(t, broker(t))) })
	}
}

type world struct {
	*testing.T
	Broker
	publisher Publisher
	serial    int
}

func newWorld(t *testing.T, b Broker) *world { return &world{T: t, Broker: b} }

// openPublisher gives the publisher of the test.
func (w *world) openPublisher() Publisher {
	w.Helper()
	if w.publisher == nil {
		w.publisher = w.Open(w.T)
		w.Cleanup(func() { _ = w.publisher.Close() })
	}
	return w.publisher
}

// makeEvents makes n events of different records.
func (w *world) makeEvents(n int) (out []event.Sealed) {
	w.Helper()
	for range n {
		w.serial++
		out = append(out, w.makeEvent(fmt.Sprintf("10.1000/%d", w.serial), fmt.Sprintf(`{"title":"no %d"}`, w.serial)))
	}
	return out
}

func (w *world) makeEvent(id, fields string) event.Sealed {
	w.Helper()
	w.serial++
	identity := make([]byte, 32)
	copy(identity, fmt.Sprintf("%032d", w.serial))
	sealed, err := event.Seal(event.Change{
		Row: int64(w.serial), Source: "crossref", Endpoint: "works", Op: event.Inserted, Key: fmt.Sprintf("%032x", w.serial), Identity: identity, RecordID: id, Version: 1, BatchID: 7,
		StoredAt: time.Date(2025, 3, 20, 12, 0, 0, 0, time.UTC), FetchedAt: time.Date(2025, 3, 20, 11, 0, 0, 0, time.UTC), Fields: []byte(fields),
	}, event.Form{})
	if err != nil {
		w.Fatal(err)
	}
	return sealed
}

// publishOnce gives those that were not delivered.
func (w *world) publishOnce(events []event.Sealed) (left []event.Sealed, last error) {
	w.Helper()
	answers := w.openPublisher().Publish(w.Context(), events)
	if len(answers) != len(events) {
		w.Fatalf("%d answers for %d events", len(answers), len(events))
	}
	for i, err := range answers {
		if err != nil {
			left, last = append(left, events[i]), err
		}
	}
	return left, last
}

// publishAll publishes until everything is delivered, as a relay does.
func (w *world) publishAll(events []event.Sealed) {
	w.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for left := events; ; <-again.C {
		var err error
		if left, err = w.publishOnce(left); len(left) == 0 {
			return
		}
		if IsRefusal(err) {
			w.Fatalf("a receiver in trouble is not a refusal: %v", err)
		}
	}
}

// IsRefusal: the error is about one event.
func IsRefusal(err error) bool {
	return errors.Is(err, event.ErrRefused) || errors.Is(err, event.ErrTooLarge)
}

// checkArrived: the receiver has the events, each with its bytes, and nothing else.
func (w *world) checkArrived(events []event.Sealed) {
	w.Helper()
	want := map[string][]byte{}
	for _, e := range events {
		want[e.ID] = e.Bytes
	}
	got := map[string]bool{}
	for _, m := range w.Received(w.T) {
		if is, known := want[m.ID]; !known || !bytes.Equal(is, m.Bytes) {
			w.Errorf("%s arrived as %q, sent was %q", m.ID, m.Bytes, is)
		}
		got[m.ID] = true
	}
	for id := range want {
		if !got[id] {
			w.Errorf("%s did not arrive", id)
		}
	}
}

func testDelivers(w *world) {
	events := w.makeEvents(250)
	if left, err := w.publishOnce(events); len(left) > 0 {
		w.Fatalf("%d are left: %v", len(left), err)
	}
	w.checkArrived(events)
	if n := len(w.Received(w.T)); n != len(events) {
		w.Errorf("%d messages for %d events", n, len(events))
	}
}

func testNothing(w *world) {
	if left, err := w.publishOnce(nil); len(left) > 0 || err != nil {
		w.Error(left, err)
	}
}

func testTwice(w *world) {
	events := w.makeEvents(5)
	w.publishAll(events)
	w.publishAll(events)
	w.checkArrived(events)
}

func testDown(w *world) {
	before, after := w.makeEvents(3), w.makeEvents(3)
	w.publishAll(before)
	w.Down(w.T)
	left, err := w.publishOnce(after)
	if len(left) != len(after) || IsRefusal(err) {
		w.Fatalf("%d of %d were not delivered to a receiver that is not there: %v", len(left), len(after), err)
	}
	w.Up(w.T)
	w.publishAll(after)
	w.checkArrived(append(before, after...))
}

func downFromTheStart(w *world) {
	events := w.makeEvents(2)
	w.Down(w.T)
	if left, _ := w.publishOnce(events); len(left) != 2 {
		w.Fatal("delivered to nobody")
	}
	w.Up(w.T)
	w.publishAll(events)
	w.checkArrived(events)
}

func testSlow(w *world) {
	events := w.makeEvents(20)
	w.openPublisher()
	w.Hold(w.T)
	done := make(chan []error, 1)
	go func() { done <- w.publisher.Publish(w.Context(), events) }()
	w.Reached(w.T)
	select {
	case answers := <-done:
		w.Fatalf("answered before the receiver did: %v", answers)
	default:
	}
	w.Free(w.T)
	for i, err := range <-done {
		if err != nil {
			w.Errorf("event %d: %v", i, err)
		}
	}
	w.checkArrived(events)
}

func toldToStop(w *world) {
	if w.Uninterruptible {
		w.Skip("its receiver always answers")
	}
	events := w.makeEvents(20)
	w.openPublisher()
	w.Hold(w.T)
	ctx, stop := context.WithCancel(w.Context())
	done := make(chan []error, 1)
	go func() { done <- w.publisher.Publish(ctx, events) }()
	w.Reached(w.T)
	stop()
	for i, err := range <-done {
		if err == nil || IsRefusal(err) {
			w.Errorf("event %d, of which no answer came: %v", i, err)
		}
	}
	w.Free(w.T)
	w.publishAll(events)
	w.checkArrived(events)
}

// answersLost: it was done, but the caller was told that it failed.
func answersLost(w *world) {
	if w.Uninterruptible {
		w.Skip("its receiver always answers")
	}
	events := w.makeEvents(20)
	w.openPublisher()
	w.Hold(w.T)
	done := make(chan []error, 1)
	go func() { done <- w.publisher.Publish(w.Context(), events) }()
	w.Reached(w.T)
	w.Down(w.T)
	for i, err := range <-done {
		if IsRefusal(err) {
			w.Errorf("event %d: %v", i, err)
		}
	}
	w.Free(w.T)
	w.Up(w.T)
	w.publishAll(events)
	w.checkArrived(events)
}

// answersTwice: an answer that comes again is not taken for one about another event.
func answersTwice(w *world) {
	if w.Double == nil {
		w.Skip("nobody could tell an answer that comes twice")
	}
	w.openPublisher()
	w.Double(w.T)
	var all []event.Sealed
	for range 5 {
		events := w.makeEvents(20)
		all = append(all, events...)
		answers := w.publisher.Publish(w.Context(), events)
		got := map[string]bool{}
		for _, m := range w.Received(w.T) {
			got[m.ID] = true
		}
		for i, err := range answers {
			if err == nil && !got[events[i].ID] || IsRefusal(err) {
				w.Errorf("%s was answered with %v and is there: %t", events[i].ID, err, got[events[i].ID])
			}
		}
	}
	w.Single(w.T)
	w.publishAll(all)
	w.checkArrived(all)
}

// testKilled: whatever was acknowledged is there, however often the receiver dies.
func testKilled(w *world) {
	all := []event.Sealed{}
	for range 3 {
		events := w.makeEvents(400)
		all = append(all, events...)
		done := make(chan []error, 1)
		w.openPublisher()
		go func() { done <- w.publisher.Publish(w.Context(), events) }()
		w.Down(w.T)
		answers := <-done
		w.Up(w.T)
		got := map[string]bool{}
		for _, m := range w.Received(w.T) {
			got[m.ID] = true
		}
		for i, err := range answers {
			if err == nil && !got[events[i].ID] {
				w.Errorf("%s was acknowledged and is not there", events[i].ID)
			}
		}
		w.publishAll(events)
	}
	w.checkArrived(all)
}

func tooLarge(w *world) {
	if w.TooLarge == 0 {
		w.Skip("its receiver takes all sizes")
	}
	events := w.makeEvents(3)
	events[1] = w.makeEvent("10.1000/large", `{"title":"`+strings.Repeat("x", w.TooLarge)+`"}`)
	answers := w.openPublisher().Publish(w.Context(), events)
	if answers[0] != nil || answers[2] != nil || !errors.Is(answers[1], event.ErrTooLarge) {
		w.Errorf("%v", answers)
	}
	w.checkArrived([]event.Sealed{events[0], events[2]})
}

func testRefused(w *world) {
	if w.Refuse == nil {
		w.Skip("its receiver refuses nothing")
	}
	events := w.makeEvents(3)
	w.Refuse(w.T, events[1].ID)
	answers := w.openPublisher().Publish(w.Context(), events)
	if answers[0] != nil || answers[2] != nil || !errors.Is(answers[1], event.ErrRefused) {
		w.Errorf("%v", answers)
	}
	w.checkArrived([]event.Sealed{events[0], events[2]})
}

func foreignText(w *world) {
	var events []event.Sealed
	for _, text := range []string{"a\nb", "a\r\nb", "../../etc/passwd", "a.*.>", "日本", "\u2028", `'";--\`, "\x00", "\xff\xfe", strings.Repeat("k", 1024)} {
		e := w.makeEvent(text, `{"x":1}`)
		e.Source, e.Endpoint = text, text // what a subject or a file could be named after
		events = append(events, e)
	}
	w.publishAll(events)
	w.checkArrived(events)
}

func manyAtOnce(w *world) {
	w.openPublisher()
	done := make(chan error, 8)
	var all []event.Sealed
	for range 8 {
		events := w.makeEvents(50)
		all = append(all, events...)
		go func() { done <- errors.Join(w.publisher.Publish(w.Context(), events)...) }()
	}
	for range 8 {
		if err := <-done; err != nil {
			w.Error(err)
		}
	}
	w.checkArrived(all)
}
