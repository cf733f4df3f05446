package executor

import (
	"sync"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// leads is whether pages of a source name their next page, as far as this process read
// them. A path with a slip in it looks like the end of every list: each slice that has
// more than one page comes to its end too early, and starting it over never helps.
type leads struct {
	mu sync.Mutex
	of map[ledBy]*led
}

// ledBy is what asks: another version of the source may have another path.
type ledBy struct {
	partition   ingest.Partition
	fingerprint string
}

type led struct {
	once    bool           // some page named its next one, so the path is right
	without map[int64]bool // runs whose first page was full, announced more, and led nowhere
}

// enoughWithout is how many runs have to begin with a page that leads nowhere before the
// path is to blame, of several slices or of one: a source that has one slice to read would
// never have more, and its runs lie seconds apart. One short day among others stops
// nothing, because a page of another slice names its next one.
const enoughWithout = 3

func newLeads() *leads { return &leads{of: map[ledBy]*led{}} }

// leadOf returns what is known of the source of a task.
func (l *leads) leadOf(w ingest.Work) *led {
	key := ledBy{w.Partition, w.SpecFingerprint}
	if l.of[key] == nil {
		l.of[key] = &led{without: map[int64]bool{}}
	}
	return l.of[key]
}

// noteLead takes note of a page that names its next one.
func (l *leads) noteLead(w ingest.Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.leadOf(w)
	of.once, of.without = true, nil
}

// everLed reports whether a page ever named its next one.
func (l *leads) everLed(w ingest.Work) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leadOf(w).once
}

// noteNowhere takes note of a run whose first page leads nowhere, and reports whether
// enough runs began so, and no page led on.
func (l *leads) noteNowhere(w ingest.Work) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.leadOf(w)
	if of.once {
		return false
	}
	if len(of.without) < enoughWithout {
		of.without[w.Lineage.RunID] = true
	}
	return len(of.without) >= enoughWithout
}

// lacksLead reports whether the first page was full and announced more, nothing named the
// next page, and no page ever did.
func (r *taskRun) lacksLead(f *fault.Error) bool {
	return f.Code == fault.ShortCount && f.At != "" && !r.executor.leads.everLed(r.work)
}

// leadsNowhere notes such a first page, and reports whether several runs began so: then
// no run would fare better.
func (r *taskRun) leadsNowhere() bool { return r.executor.leads.noteNowhere(r.work) }
