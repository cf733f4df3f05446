package redisgate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/testkit/gatetest"
	"github.com/patra-ingest/patra/internal/testkit/redis"
)

// lossLimits: the burst is used at the start and is more than what the rate
// brings in any pause of these tests, so a second one would be seen.
var lossLimits = gate.Limits{PerSecond: 20, Burst: 64, Concurrency: 64}

// D§5.23, F44: a server that is killed, comes back empty, is emptied and stops
// answering never lets more through, and all comes back by itself.
func TestServerLost(t *testing.T) {
	for _, clients := range []int{1, 4, 16} {
		t.Run(fmt.Sprintf("%d clients", clients), func(t *testing.T) {
			t.Parallel()
			server := redis.Start(t)
			settled(t, server.URL(), "loss")
			u := newUpstream(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var all sync.WaitGroup
			gates := make([]*Gate, clients)
			for i := range gates {
				gates[i] = open(t, server.URL(), "loss")
				gates[i].SetShare(i, clients)
			}
			pass(500 * time.Millisecond) // all are there
			for _, g := range gates {
				u.busy(ctx, &all, g, max(8/clients, 1), lossLimits)
			}
			flows := func(when string, from, to time.Time, least float64) {
				t.Helper()
				n, want := u.between(from, to), least*lossLimits.PerSecond*(to.Sub(from)-u.noise.Between(from, to)).Seconds()
				t.Logf("%s: %d requests in %v", when, n, to.Sub(from).Round(time.Millisecond))
				if float64(n) < want && gatetest.Proves() {
					t.Errorf("%s: %d requests, want at least %.0f", when, n, want)
				}
			}
			pass(time.Second) // the burst
			from, to := pass(2 * time.Second)
			flows("with the server", from, to, 0.5)
			server.Kill()
			pass(1500 * time.Millisecond)
			from, to = pass(1500 * time.Millisecond)
			flows("without it", from, to, 0.3)
			server.Restart()
			pass(1500 * time.Millisecond)
			from, to = pass(time.Second)
			flows("after its return", from, to, 0.5)
			server.Empty()
			pass(1200 * time.Millisecond)
			from, to = pass(time.Second)
			flows("after it was emptied", from, to, 0.5)
			server.Pause()
			pass(1200 * time.Millisecond)
			server.Resume()
			pass(1500 * time.Millisecond)
			from, to = pass(time.Second)
			flows("after it stood still", from, to, 0.4)
			cancel()
			all.Wait()
			u.within(lossLimits)
		})
	}
}

// The full form of the tests below: they ask for throughput.
func TestProofServerLost(t *testing.T) {
	if !gatetest.Proves() {
		t.Skip("a proof: set PATRA_PROOF=1")
	}
	t.Run("lost", TestServerLost)
	t.Run("used", TestUsesTheRate)
}

// Politeness is not slowness: what is declared is used.
func TestUsesTheRate(t *testing.T) {
	for _, clients := range []int{1, 4, 16} {
		t.Run(fmt.Sprintf("%d clients", clients), func(t *testing.T) {
			address, prefix := redis.URL(t), newPrefix()
			settled(t, address, prefix)
			limits := gate.Limits{PerSecond: 50, Burst: 10, Concurrency: 64}
			u := newUpstream(t)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var all sync.WaitGroup
			for i := range clients {
				g := open(t, address, prefix)
				g.SetShare(i, clients)
				u.busy(ctx, &all, g, max(8/clients, 1), limits)
			}
			all.Wait()
			u.within(limits)
			took := time.Since(u.began)
			t.Logf("%.1f %% of the declared rate", float64(len(u.came))/limits.PerSecond/took.Seconds()*100)
			if n, want := len(u.came), 0.97*limits.PerSecond*(took-u.noise.Between(u.began, time.Now())).Seconds(); float64(n) < want && gatetest.Proves() {
				t.Errorf("%d requests in %v, want at least %.0f", n, took, want)
			}
		})
	}
}

// awaitMode returns when the gate is in a mode.
func (g *Gate) awaitMode(want mode) {
	for m, changed := g.currentMode(); m != want; m, changed = g.currentMode() {
		<-changed
	}
}

// Some see the server, one does not: its share is kept for it.
func TestOneClientCutOff(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	settled(t, server.URL(), "cut")
	u := newUpstream(t)
	wire := newCable(t, strings.TrimSuffix(strings.TrimPrefix(server.URL(), "redis://"), "/0"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	var gates []*Gate
	for i := range 4 {
		address := server.URL()
		if i == 0 {
			address = wire.URL()
		}
		g := open(t, address, "cut")
		g.SetShare(i, 4)
		gates = append(gates, g)
	}
	pass(500 * time.Millisecond)
	for _, g := range gates {
		u.busy(ctx, &all, g, 3, lossLimits)
	}
	pass(1500 * time.Millisecond)
	for range 2 {
		wire.Cut(true)
		gates[0].awaitMode(alone)
		pass(2 * time.Second)
		if m, _ := gates[1].currentMode(); m != shared && gatetest.Proves() { // a slow machine loses it too
			t.Errorf("a client with a server is in mode %d", m)
		}
		wire.Cut(false)
		gates[0].awaitMode(shared)
		pass(1500 * time.Millisecond)
	}
	cancel()
	all.Wait()
	u.within(lossLimits)
}

// A replica that takes over may have an older state, with a full bucket.
func TestOlderStateGivesNoBurst(t *testing.T) {
	server := redis.Start(t)
	settled(t, server.URL(), "old")
	g := open(t, server.URL(), "old")
	limits := gate.Limits{PerSecond: 1, Burst: 50, Concurrency: 64}
	take := func(ctx context.Context, most int) (n int) {
		for ; n < most; n++ {
			p, err := g.Acquire(ctx, gate.Ask{Key: "source", Limits: limits})
			if err != nil {
				return n
			}
			p.Done(gate.Signal{})
		}
		return n
	}
	if n := take(t.Context(), 49); n < 49 {
		t.Fatalf("%d of a burst of 50", n)
	}
	began := time.Now()
	o, err := goredis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(o)
	defer client.Close()
	for _, set := range [][]any{{"{old:gate}:epoch", "run", "another"}, {"{old:gate}:source:state", "tokens", 50}} {
		if err := client.HSet(t.Context(), set[0].(string), set[1:]...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	if n, allowed := take(ctx, 50), 2+time.Since(began).Seconds(); float64(n) > allowed {
		t.Errorf("%d requests at one a second after another server took over, allowed %.1f", n, allowed)
	}
}

// A process that was paused must not send later what it was allowed to send then.
func TestPermitsBecomeVoid(t *testing.T) {
	server := redis.Start(t)
	settled(t, server.URL(), "void")
	g := open(t, server.URL(), "void")
	a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 100, Burst: 10, Concurrency: 10}}
	p, err := g.Acquire(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	p.Done(gate.Signal{})
	k, past := g.keyNamed("source"), time.Now().Add(-time.Millisecond)
	server.Pause() // so that a permit can only come from hand
	defer server.Resume()
	k.mu.Lock()
	k.hand = []grant{{weight: 1, slot: past, void: past}}
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := g.Acquire(ctx, a); err == nil {
		if m, _ := g.currentMode(); m == shared { // else a slow machine lost its server, and works without
			t.Error("a void permit was used")
		}
	}
	w := &waiter{ask: a, grant: grant{weight: 1, slot: past, void: past}}
	k.mu.Lock()
	k.under++
	k.mu.Unlock()
	if p, _ := k.awaitInstant(t.Context(), w); p != nil {
		t.Error("a permit that became void while waiting was used")
	}
}

// The places of a process that died come back, not before their time.
func TestPlacesOfTheDead(t *testing.T) {
	server := redis.Start(t)
	settled(t, server.URL(), "dead")
	dying, living := open(t, server.URL(), "dead"), open(t, server.URL(), "dead")
	a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 100, Burst: 10, Concurrency: 1}}
	began := time.Now()
	if _, err := dying.Acquire(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	dying.stop() // as if killed: nothing is said any more
	dying.work.Wait()
	p, err := living.Acquire(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	p.Done(gate.Signal{})
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("the place came back after %v, its lease is 3 s", took)
	}
}

// A newer version of a source may bring a warm-up to a key that is in use.
func TestWarmupOfAKeyInUse(t *testing.T) {
	address, prefix := redis.URL(t), newPrefix()
	settled(t, address, prefix)
	g := open(t, address, prefix)
	for _, warmup := range []time.Duration{0, time.Hour} {
		a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 60, Burst: 4, Warmup: duration.Duration(warmup)}, Deadline: 2 * time.Second}
		p, err := g.Acquire(t.Context(), a)
		if err != nil {
			t.Fatalf("warm-up %v: %v", warmup, err)
		}
		p.Done(gate.Signal{})
	}
	all, err := g.Snapshot(t.Context())
	if err != nil || len(all) != 1 || all[0].PerSecond < 19.9 || all[0].PerSecond > 25 {
		t.Errorf("shown as %+v, a third of 60 a second is right (%v)", all, err)
	}
}

// A server that answers and cannot do its work is worked around like a lost one,
// and used again when it can.
func TestServerThatFailsEveryTrip(t *testing.T) {
	t.Parallel()
	server := redis.Start(t)
	o, err := goredis.ParseURL(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := goredis.NewClient(o)
	defer client.Close()
	if err := client.Set(t.Context(), "{broken:gate}:source:state", "no hash", 0).Err(); err != nil {
		t.Fatal(err)
	}
	g := open(t, server.URL(), "broken")
	a := gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 20}}
	for range 3 {
		p, err := g.Acquire(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		p.Done(gate.Signal{})
	}
	if m, _ := g.currentMode(); m != alone {
		t.Errorf("mode %d", m)
	}
	if err := client.Del(t.Context(), "{broken:gate}:source:state").Err(); err != nil {
		t.Fatal(err)
	}
	g.awaitMode(shared)
	p, err := g.Acquire(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	p.Done(gate.Signal{})
}

func TestNoServerAtAll(t *testing.T) {
	g := open(t, "redis://:secret@127.0.0.1:1/0", "none")
	if err := g.Reachable(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: %v", err)
	}
	for range 3 {
		p, err := g.Acquire(t.Context(), gate.Ask{Key: "source", Limits: gate.Limits{PerSecond: 20, Burst: 1, Concurrency: 1}})
		if err != nil {
			t.Fatal(err)
		}
		p.Done(gate.Signal{})
	}
}

func TestAddresses(t *testing.T) {
	for address, good := range map[string]bool{
		"redis://127.0.0.1:6379/0": true, "rediss://user:secret@cache.example.org:6380/2": true, "unix:///run/redis.sock": true,
		"http://secret@host": false, "redis://:secret@host:port/0": false, "": false,
	} {
		_, err := redisOptions(Config{URL: address}.withDefaults())
		if (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
		if masked := Masked(address); strings.Contains(masked, ":secret") {
			t.Errorf("masked as %s", masked)
		}
	}
}
