package dispatch

import "sync"

// workerSlots are the workers of this process. A task that only waits, at the gate or
// for a Retry-After, uses nothing but its place: it gives the place to a task of
// another source meanwhile, so that one source that cools down cannot hold all
// workers. When it wakes up it goes on beside that task, so there are never more
// than twice as many under way.
type workerSlots struct {
	news chan struct{} // somebody left or began to rest

	mu      sync.Mutex
	workers int
	busy    int
	resting map[string]int // tasks that only wait, by source
}

func newWorkerSlots(workers int) *workerSlots {
	return &workerSlots{news: make(chan struct{}, 1), workers: workers, resting: map[string]int{}}
}

// hasRoom reports whether a task may be started, and which sources' may not.
func (p *workerSlots) hasRoom() (without map[string]bool, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy < p.workers {
		return nil, true
	}
	rest := 0
	without = map[string]bool{}
	for source, n := range p.resting {
		if n > 0 {
			rest += n
			without[source] = true
		}
	}
	return without, p.busy-min(rest, p.workers) < p.workers
}

func (p *workerSlots) takePlace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy++
}

func (p *workerSlots) leavePlace() {
	p.mu.Lock()
	p.busy--
	p.mu.Unlock()
	p.tellChange()
}

func (p *workerSlots) isEmpty() bool { return p.countBusy() == 0 }

// countBusy returns how many tasks are under way, those that only wait included.
func (p *workerSlots) countBusy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy
}

// noteResting notes that a task of a source begins (+1) or ends (-1) to only wait.
func (p *workerSlots) noteResting(source string, change int) {
	p.mu.Lock()
	if p.resting[source] += change; p.resting[source] == 0 {
		delete(p.resting, source)
	}
	p.mu.Unlock()
	if change > 0 {
		p.tellChange()
	}
}

func (p *workerSlots) tellChange() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}
