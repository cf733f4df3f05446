package dispatch

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// shut is a gate that lets one source wait for as long as it has patience.
type shut struct{ source string }

func (s shut) Acquire(ctx context.Context, a gate.Ask) (transport.Permit, error) {
	if a.Key == s.source {
		select {
		case <-time.After(a.Deadline):
			return nil, fault.New(fault.RateLimited, nil)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return open{}, nil
}

type open struct{}

func (open) Done(gate.Signal) {}

// answering is an upstream that always has an answer.
type answering struct{}

func (answering) Send(context.Context, *exchange.Request) (*exchange.Response, error) {
	return &exchange.Response{Status: 200, Body: []byte("{}")}, nil
}

// asking works on a task by one request through the chain; what the gate refuses
// is put back for an hour.
type asking struct {
	line  *line
	chain transport.Doer

	mu    sync.Mutex
	ended map[string][]time.Time // by source
	most  int
	now   int
}

func (a *asking) Execute(ctx context.Context, w ingest.Work) (ingest.Outcome, error) {
	a.mu.Lock()
	a.now++
	a.most = max(a.most, a.now)
	a.mu.Unlock()
	request := &exchange.Request{Method: "GET", URL: &url.URL{Scheme: "https", Host: "example.org"}, Header: exchange.Header{}, Replayable: true}
	_, err := a.chain.Do(ctx, &transport.Call{Request: request, Key: w.Partition.Source, Retry: fault.RetryPolicy{MaxAttempts: 1}.WithDefaults()})
	a.line.done(w)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now--
	if a.ended == nil {
		a.ended = map[string][]time.Time{}
	}
	a.ended[w.Partition.Source] = append(a.ended[w.Partition.Source], time.Now())
	if err != nil {
		a.line.add(waiting{id: w.Lease.TaskID, partition: w.Lineage.PlanID, scheduled: true, due: time.Now().Add(time.Hour)})
		return ingest.Outcome{Task: ingest.TaskScheduled, Run: ingest.RunCancelled, Code: string(fault.RateLimited)}, nil
	}
	return wentWell, nil
}

// A source that cools down must not hold all workers: its tasks wait for two
// minutes before they are put back, and those of another source are worked on
// meanwhile, although there are as many waiting as there are workers.
func TestACoolingSourceDoesNotHoldAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{limits: map[int64]int{1: 8, 2: 8}}
		for i := range int64(8) {
			l.add(waiting{id: i, partition: 1, priority: 10})
		}
		for i := range int64(40) {
			l.add(waiting{id: 100 + i, partition: 2, priority: 90})
		}
		a, began := &asking{line: l, chain: transport.StackSigned(answering{}, nil, shut{"source-1"})}, time.Now()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- New(l, a, Config{Workers: 4}, silent).Run(ctx, nil) }()
		<-time.After(10 * time.Second)
		a.mu.Lock()
		if n := len(a.ended["source-2"]); n != 40 {
			t.Errorf("after ten seconds %d of 40 tasks of the other source are done", n)
		}
		if len(a.ended["source-1"]) != 0 {
			t.Error("the cooling source gave up early: its tasks had not waited long enough")
		}
		if a.most > 8 {
			t.Errorf("%d tasks were under way with 4 workers", a.most)
		}
		a.mu.Unlock()
		<-time.After(5 * time.Minute)
		a.mu.Lock()
		first := a.ended["source-1"]
		if len(first) != 8 || first[0].Sub(began) < time.Minute {
			t.Errorf("the cooling source's tasks ended at %v", first)
		}
		a.mu.Unlock()
		due, err := l.NextDue(ctx)
		if err != nil || due.Sub(began) < time.Hour {
			t.Errorf("the tasks are not put back for later: %v, %v", due, err)
		}
		stop()
		<-done
	})
}

func TestPlaces(t *testing.T) {
	p := newWorkerSlots(2)
	room := func() string {
		without, ok := p.hasRoom()
		return fmt.Sprint(ok, len(without))
	}
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"nobody", func() {}, "true 0"},
		{"one", p.takePlace, "true 0"},
		{"all", p.takePlace, "false 0"},
		{"one rests", func() { p.noteResting("a", +1) }, "true 1"},
		{"its place is taken", p.takePlace, "false 1"},
		{"all rest", func() { p.noteResting("b", +1) }, "true 2"},
		{"that one too", p.takePlace, "false 2"},
		{"never more than twice as many", func() { p.noteResting("c", +1); p.noteResting("c", +1) }, "false 3"},
		{"awake again", func() { p.noteResting("a", -1); p.noteResting("b", -1); p.noteResting("c", -1); p.noteResting("c", -1) }, "false 0"},
		{"one leaves: still more than there are places", p.leavePlace, "false 0"},
		{"two leave", p.leavePlace, "false 0"},
		{"three leave", p.leavePlace, "true 0"},
		{"told the wrong way round", func() { p.noteResting("a", -1); p.noteResting("a", +1) }, "true 0"},
	} {
		if c.do(); room() != c.want {
			t.Errorf("%s: %s, want %s", c.name, room(), c.want)
		}
	}
}
