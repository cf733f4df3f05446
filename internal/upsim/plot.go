package upsim

import (
	"fmt"
	"sync"
	"time"
)

// plot holds the faults of a server and how often each was applied.
type plot struct {
	seed uint64

	mu      sync.Mutex
	faults  []Fault
	applied []int
}

func (p *plot) setFaults(faults []Fault) error {
	for i, f := range faults {
		if err := f.checkFault(); err != nil {
			return fmt.Errorf("fault %d: %w", i+1, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append([]Fault(nil), faults...)
	p.applied = make([]int, len(faults))
	return nil
}

// faultChoice is what the plot decides for one request.
type faultChoice struct {
	fault Fault // the zero Fault when nothing but a delay applies
	delay time.Duration
	label string
}

// decideFault takes the first fault that applies; slow ones only add their delay and
// let the search go on.
func (p *plot) decideFault(h Hit) faultChoice {
	p.mu.Lock()
	defer p.mu.Unlock()
	var t faultChoice
	for i, f := range p.faults {
		if f.Times > 0 && p.applied[i] >= f.Times || !f.matchesHit(h, p.seed, uint64(i)) {
			continue
		}
		p.applied[i]++
		t.delay += f.Delay
		if t.label != "" {
			t.label += "+"
		}
		t.label += string(f.Kind)
		if f.Kind != FaultSlow {
			t.fault = f
			break
		}
	}
	return t
}
