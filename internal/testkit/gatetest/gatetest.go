// Package gatetest is what a rate gate must do, for every gate: rates and places
// held by the upstream's own log, demotion and recovery, cool-downs, quotas,
// hours, turns, priorities, and giving up (§4.10, I11).
//
// It must never know how a gate is built. A gate that keeps its state in the
// process is tested in virtual time, where minutes pass in no time; one that
// talks to a server in real time, with seconds where the other has minutes. There
// only counts, order and "not before" are asked for: how soon something happens
// depends on the machine, and only a proof asks for that.
package gatetest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// Gate is one client of a gate. What is nil is not tested.
type Gate struct {
	Acquire  func(ctx context.Context, a gate.Ask) (done func(gate.Signal), err error)
	Estimate func(ctx context.Context, a gate.Ask, horizon time.Duration) (gate.Estimate, error)
	Snapshot func(ctx context.Context) ([]gate.Snapshot, error)
	// Standing tells how one key stands, also one that was never asked for.
	Standing func(ctx context.Context, key string, l gate.Limits) (gate.Snapshot, error)
	SetShare func(rank, n int) // where limits are divided, not shared
	Close    func()            // gives back what was fetched in advance
	// Restart is the process that comes after this one, which has ended in an
	// orderly way or not.
	Restart func(orderly bool) Gate
}

// Subject is a gate under test.
type Subject struct {
	// Open starts so many clients of one new gate. What they hold is put away by
	// t.Cleanup.
	Open    func(t *testing.T, clients int) []Gate
	Virtual bool // it can run in a synctest bubble
	// ShortHours is Open for a gate whose hour is short enough to wait for; nil
	// where time is virtual.
	ShortHours func(t *testing.T, clients int) (gates []Gate, hour time.Duration)
}

// Run tests a gate.
func Run(t *testing.T, s Subject) {
	for _, c := range []struct {
		name string
		test func(*world)
	}{
		{"rate of one client", func(w *world) { w.testRate(1) }},
		{"rate of four clients", func(w *world) { w.testRate(4) }},
		{"rate of sixteen clients", func(w *world) { w.testRate(16) }},
		{"places", (*world).testPlaces},
		{"cost", (*world).testCost},
		{"demotion", (*world).testDemotion},
		{"recovery", (*world).testRecovery},
		{"one burst is one complaint", (*world).oneComplaint},
		{"our own mistakes cost no rate", (*world).testRefused},
		{"retry after", (*world).retryAfter},
		{"retry after beyond the deadline", (*world).retryAfterRejects},
		{"announced rate", (*world).announcedRate},
		{"nothing remaining", (*world).nothingRemaining},
		{"deadline", (*world).testDeadline},
		{"quota", (*world).testQuota},
		{"quota of the next window", (*world).rollOver},
		{"quota after a restart", func(w *world) { w.testRestarted(true) }},
		{"quota after a crash", func(w *world) { w.testRestarted(false) }},
		{"money", (*world).testMoney},
		{"closed hours", (*world).closedHours},
		{"turns", (*world).testTurns},
		{"priority", (*world).testPriority},
		{"priority under a scarce quota", (*world).testScarce},
		{"giving up", (*world).givingUp},
		{"share", (*world).testShare},
		{"returned lease", (*world).testReturned},
		{"estimate", (*world).testEstimate},
		{"keys do not meet", (*world).testKeys},
		{"standing of keys", (*world).testStanding},
	} {
		t.Run(c.name, func(t *testing.T) {
			if s.Virtual {
				synctest.Test(t, func(t *testing.T) { c.test(&world{T: t, Subject: s, began: time.Now()}) })
				return
			}
			c.test(&world{T: t, Subject: s, noise: Listen(t), began: time.Now()})
		})
	}
}
