package executor

import (
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/measure"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// FailedTries is what went wrong at a partition since its last page came.
type FailedTries struct {
	Tries int
	Last  string // what the last of them met
}

// troubles is what goes wrong at the partitions this process works on: for people who
// watch a harvest that stands still, and to notice that all runs fail alike. It is
// forgotten with the process; a page that comes ends it.
type troubles struct {
	mu sync.Mutex
	of map[ingest.Partition]*trouble
}

type trouble struct {
	failed   FailedTries
	streak   fault.Streak
	answered time.Time // when the last page was stored; zero: none was
}

func newTroubles() *troubles { return &troubles{of: map[ingest.Partition]*trouble{}} }

// troubleAt returns what goes wrong at a partition.
func (t *troubles) troubleAt(p ingest.Partition) *trouble {
	if t.of[p] == nil {
		t.of[p] = &trouble{}
	}
	return t.of[p]
}

// noteTry counts a try that failed.
func (t *troubles) noteTry(p ingest.Partition, f *fault.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.troubleAt(p)
	of.failed.Tries++
	of.failed.Last = f.Error()
}

// notePage forgets what failed before a page that came.
func (t *troubles) notePage(p ingest.Partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[p] = &trouble{answered: time.Now()}
}

// noteRun takes in the fault of a run that got no page, and reports whether the next
// runs would fare no better. One that was sent ahead while nobody else may ask speaks
// for all of them.
func (t *troubles) noteRun(p ingest.Partition, f *fault.Error, ahead bool) (s fault.Streak, stops bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.troubleAt(p)
	of.streak = of.streak.Note(f)
	answered := !of.answered.IsZero()
	return of.streak, of.streak.Stops(answered) || ahead && of.streak.Runs > 0 && !answered
}

// answeredSince reports whether a page of the partition came after an instant.
func (t *troubles) answeredSince(p ingest.Partition, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.troubleAt(p).answered.After(at)
}

// FailedTries tells what went wrong at a partition since its last page.
func (e *Executor) FailedTries(p ingest.Partition) FailedTries {
	e.troubles.mu.Lock()
	defer e.troubles.mu.Unlock()
	return e.troubles.troubleAt(p).failed
}

// noteTry hears of every try that failed, and says so in the log.
func (r *taskRun) noteTry(t transport.FailedTry) {
	if r.failingSince.IsZero() {
		r.failingSince = time.Now()
	}
	r.executor.troubles.noteTry(r.work.Partition, t.Fault)
	r.measured = t.Fault
	if t.Fault.Held == "" { // being put off by our own gate is no error
		r.stats.Errors = r.stats.Errors.Count(t.Fault.Level, string(t.Fault.Code), 1, r.askedNo)
	}
	r.executor.meter.NoteFailure(r.work.Partition, measure.Failure{Level: t.Fault.Level, Again: t.Wait > 0})
	r.line().Debug("try failed", "try", t.No, "of", t.Most, "code", string(t.Fault.Code), "error", t.Fault.Error(), "nextIn", t.Wait.Round(time.Millisecond).String())
}

// everAnswered reports whether a page of the partition ever came in this process.
func (t *troubles) everAnswered(p ingest.Partition) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.troubleAt(p).answered.IsZero()
}
