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
		{"delivers", delivers},
		{"nothing to deliver", nothing},
		{"twice", twice},
		{"down", down},
		{"down from the start", downFromTheStart},
		{"slow", slow},
		{"told to stop", toldToStop},
		{"answers lost", answersLost},
		{"answers twice", answersTwice},
		{"killed again and again", killed},
		{"too large", tooLarge},
		{"refused", refused},
		{"foreign text", foreignText},
		{"many at once", manyAtOnce},
		{"relay", relayed},
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

// open gives the publisher of the test.
func (w *world) open() Publisher {
	w.Helper()
	if w.publisher == nil {
		w.publisher = w.Open(w.T)
		w.Cleanup(func() { _ = w.publisher.Close() })
	}
	return w.publisher
}

// events makes n events of different records.
func (w *world) events(n int) (out []event.Sealed) {
	w.Helper()
	for range n {
		w.serial++
		out = append(out, w.event(fmt.Sprintf("10.1000/%d", w.serial), fmt.Sprintf(`{"title":"no %d"}`, w.serial)))
	}
	return out
}

func (w *world) event(id, fields string) event.Sealed {
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

// publish gives those that were not delivered.
func (w *world) publish(events []event.Sealed) (left []event.Sealed, last error) {
	w.Helper()
	answers := w.open().Publish(w.Context(), events)
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

// all publishes until everything is delivered, as a relay does.
func (w *world) all(events []event.Sealed) {
	w.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for left := events; ; <-again.C {
		var err error
		if left, err = w.publish(left); len(left) == 0 {
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

// arrived: the receiver has the events, each with its bytes, and nothing else.
func (w *world) arrived(events []event.Sealed) {
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

func delivers(w *world) {
	events := w.events(250)
	if left, err := w.publish(events); len(left) > 0 {
		w.Fatalf("%d are left: %v", len(left), err)
	}
	w.arrived(events)
	if n := len(w.Received(w.T)); n != len(events) {
		w.Errorf("%d messages for %d events", n, len(events))
	}
}

func nothing(w *world) {
	if left, err := w.publish(nil); len(left) > 0 || err != nil {
		w.Error(left, err)
	}
}

func twice(w *world) {
	events := w.events(5)
	w.all(events)
	w.all(events)
	w.arrived(events)
}

func down(w *world) {
	before, after := w.events(3), w.events(3)
	w.all(before)
	w.Down(w.T)
	left, err := w.publish(after)
	if len(left) != len(after) || IsRefusal(err) {
		w.Fatalf("%d of %d were not delivered to a receiver that is not there: %v", len(left), len(after), err)
	}
	w.Up(w.T)
	w.all(after)
	w.arrived(append(before, after...))
}

func downFromTheStart(w *world) {
	events := w.events(2)
	w.Down(w.T)
	if left, _ := w.publish(events); len(left) != 2 {
		w.Fatal("delivered to nobody")
	}
	w.Up(w.T)
	w.all(events)
	w.arrived(events)
}

func slow(w *world) {
	events := w.events(20)
	w.open()
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
	w.arrived(events)
}

func toldToStop(w *world) {
	if w.Uninterruptible {
		w.Skip("its receiver always answers")
	}
	events := w.events(20)
	w.open()
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
	w.all(events)
	w.arrived(events)
}

// answersLost: it was done, but the caller was told that it failed.
func answersLost(w *world) {
	if w.Uninterruptible {
		w.Skip("its receiver always answers")
	}
	events := w.events(20)
	w.open()
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
	w.all(events)
	w.arrived(events)
}

// answersTwice: an answer that comes again is not taken for one about another event.
func answersTwice(w *world) {
	if w.Double == nil {
		w.Skip("nobody could tell an answer that comes twice")
	}
	w.open()
	w.Double(w.T)
	var all []event.Sealed
	for range 5 {
		events := w.events(20)
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
	w.all(all)
	w.arrived(all)
}

// killed: whatever was acknowledged is there, however often the receiver dies.
func killed(w *world) {
	all := []event.Sealed{}
	for range 3 {
		events := w.events(400)
		all = append(all, events...)
		done := make(chan []error, 1)
		w.open()
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
		w.all(events)
	}
	w.arrived(all)
}

func tooLarge(w *world) {
	if w.TooLarge == 0 {
		w.Skip("its receiver takes all sizes")
	}
	events := w.events(3)
	events[1] = w.event("10.1000/large", `{"title":"`+strings.Repeat("x", w.TooLarge)+`"}`)
	answers := w.open().Publish(w.Context(), events)
	if answers[0] != nil || answers[2] != nil || !errors.Is(answers[1], event.ErrTooLarge) {
		w.Errorf("%v", answers)
	}
	w.arrived([]event.Sealed{events[0], events[2]})
}

func refused(w *world) {
	if w.Refuse == nil {
		w.Skip("its receiver refuses nothing")
	}
	events := w.events(3)
	w.Refuse(w.T, events[1].ID)
	answers := w.open().Publish(w.Context(), events)
	if answers[0] != nil || answers[2] != nil || !errors.Is(answers[1], event.ErrRefused) {
		w.Errorf("%v", answers)
	}
	w.arrived([]event.Sealed{events[0], events[2]})
}

func foreignText(w *world) {
	var events []event.Sealed
	for _, text := range []string{"a\nb", "a\r\nb", "../../etc/passwd", "a.*.>", "日本", "\u2028", `'";--\`, "\x00", "\xff\xfe", strings.Repeat("k", 1024)} {
		e := w.event(text, `{"x":1}`)
		e.Source, e.Endpoint = text, text // what a subject or a file could be named after
		events = append(events, e)
	}
	w.all(events)
	w.arrived(events)
}

func manyAtOnce(w *world) {
	w.open()
	done := make(chan error, 8)
	var all []event.Sealed
	for range 8 {
		events := w.events(50)
		all = append(all, events...)
		go func() { done <- errors.Join(w.publisher.Publish(w.Context(), events)...) }()
	}
	for range 8 {
		if err := <-done; err != nil {
			w.Error(err)
		}
	}
	w.arrived(all)
}
