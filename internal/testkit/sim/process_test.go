package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/httpclient"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/engine/dispatch"
	"github.com/patra-ingest/patra/internal/engine/executor"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

const (
	lease = 30 * time.Second
	poll  = 10 * time.Second
)

// process is one executor process with one worker. What it knows dies with it.
type process struct {
	*line
	name  string
	ended chan struct{}
	stop  context.CancelFunc
}

func (w *world) start(name string) *process {
	ctx, stop := context.WithCancelCause(w.ctx)
	p := &process{line: &line{store: w.store, onDeath: stop, count: w.count}, name: name, ended: make(chan struct{}), stop: func() { stop(nil) }}
	gate := rategate.New()
	chain := transport.StackSigned(wired{p.line, httpclient.New(httpclient.Options{Dial: w.net.dial})}, secrets.Limited{}, gate)
	e := executor.New(p.line, chain, w.bodies, executor.Config{Lease: lease, Files: w.copiesOf(p.line)}, w.log.With("process", name))
	d := dispatch.New(p.line, e, dispatch.Config{Workers: 1, Poll: poll, Owner: name, Lease: lease, Share: gate.Share}, w.log.With("process", name))
	var beating sync.WaitGroup
	beating.Go(func() { p.beat(ctx, gate) })
	go func() {
		defer close(p.ended)
		err := d.Run(ctx, nil)
		stop(err)
		beating.Wait()
		w.log.Debug("process ended", "process", name, "error", err)
	}()
	return p
}

// beat takes a share of the rates, as the daemon does.
func (p *process) beat(ctx context.Context, gate *rategate.Local) {
	for {
		living, err := p.Heartbeat(ctx, ingest.Process{ID: p.name, Roles: "executor", Host: "sim", PID: 1}, lease)
		if err == nil {
			me := slices.IndexFunc(living, func(e ingest.Process) bool { return e.ID == p.name })
			gate.SetShare(me, len(living))
		}
		if !pass(ctx, lease/3) {
			return
		}
	}
}

// pass lets time go by. It is false if ctx ended first.
func pass(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// about is a random time of this mean.
func about(random *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(random.ExpFloat64() * float64(mean))
}

// place is where one process after the other runs: when one is gone, another is
// started, under another name.
func (w *world) place(n int) {
	random := w.random("place", n)
	for generation := 1; ; generation++ {
		p := w.start(fmt.Sprintf("p%02d-%03d", n, generation))
		for w.disturbed(p, random) {
		}
		<-p.ended
		if !pass(w.ctx, about(random, 5*time.Second)) {
			return
		}
	}
}

// disturbed does something to a process after a while. It is false when the
// process has ended or is about to.
func (w *world) disturbed(p *process, random *rand.Rand) bool {
	select {
	case <-p.ended:
		return false
	case <-w.calm: // nothing more happens to anybody
		select {
		case <-p.ended:
		case <-w.ctx.Done():
		}
		return false
	case <-time.After(about(random, time.Minute)):
	}
	w.count("disturbances")
	switch random.IntN(7) {
	case 0:
		p.kill()
		return false
	case 1:
		p.dieAt(1+random.IntN(8), random.IntN(2) == 0)
	case 2: // asked to stop
		p.stop()
		return false
	case 3: // held still for a while, often for longer than its leases last
		p.freeze()
		pass(w.ctx, about(random, 3*lease/2))
		p.thaw()
	case 4, 5: // comes back when its task is another's
		p.freezeWriting(lease + about(random, lease))
	case 6:
		p.setCut(true)
		pass(w.ctx, about(random, 20*time.Second))
		p.setCut(false)
	}
	return true
}
