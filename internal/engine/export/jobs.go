package export

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// Queue keeps the exports that people asked for.
type Queue interface {
	TakeExport(ctx context.Context, claim, process string) (job export.Job, found bool, err error)
	NoteExportProgress(ctx context.Context, id int64, claim string, p export.JobProgress) (others int64, err error)
	EndExport(ctx context.Context, id int64, claim string, end export.JobEnd) (export.Job, error)
	Upkeep
}

// Upkeep ends and forgets what nobody does by asking.
type Upkeep interface {
	FailLostExports(ctx context.Context, silence time.Duration, gone []string) (lost int, err error)
	PruneExports(ctx context.Context, before time.Time, limit int) error
	Now(ctx context.Context) (time.Time, error)
}

// Shelf is where files of exports are made and kept.
type Shelf interface {
	// Make writes the file of a job and tells how far it has come.
	Make(ctx context.Context, j export.Job, tell func(export.JobProgress)) (export.JobEnd, error)
	// Remove removes the folder of a job, with whatever is in it.
	Remove(j export.Job) error
	// Sweep removes the folders that nobody needs at an instant.
	Sweep(ctx context.Context, now time.Time) error
}

// JobsConfig says how exports are made.
type JobsConfig struct {
	Process   string        // that makes them
	AtOnce    int           // how many
	Keep      time.Duration // how long a file stays
	MostBytes int64         // that all files together may take
	// Gone lists processes that are known to have ended without a word.
	Gone func(ctx context.Context) ([]string, error)
	Log  *slog.Logger
	// LookEvery is how often waiting exports are looked for, and signs of life given; zero:
	// as usual.
	LookEvery time.Duration
}

const (
	lookEvery = 2 * time.Second
	tidyEvery = time.Minute
	// lastWords is how long an export that ends may take to say so.
	lastWords    = 5 * time.Second
	pruneAtATime = 500
)

// Jobs makes exports that people asked for, some at once, in the order in which they asked.
type Jobs struct {
	queue Queue
	shelf Shelf
	JobsConfig
	room chan struct{}
	wake chan struct{}
}

// NewJobs makes a worker on exports.
func NewJobs(q Queue, s Shelf, c JobsConfig) *Jobs {
	if c.LookEvery == 0 {
		c.LookEvery = lookEvery
	}
	return &Jobs{queue: q, shelf: s, JobsConfig: c, room: make(chan struct{}, max(c.AtOnce, 1)), wake: make(chan struct{}, 1)}
}

// Wake has waiting exports looked for at once.
func (j *Jobs) Wake() {
	select {
	case j.wake <- struct{}{}:
	default: // somebody looks already
	}
}

// Run makes exports until ctx ends. Those under way then fail, and their files are removed.
func (j *Jobs) Run(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	look := time.NewTicker(j.LookEvery)
	defer look.Stop()
	var tidied time.Time
	for {
		if now := time.Now(); now.Sub(tidied) >= tidyEvery {
			tidied = now
			j.tidy(ctx)
		}
		j.begin(ctx, &working)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		case <-j.wake:
		}
	}
}

// tidy fails what a dead process left, and removes files and rows that are over. What does
// not work is tried again.
func (j *Jobs) tidy(ctx context.Context) {
	if err := j.tidyOnce(ctx); err != nil && ctx.Err() == nil {
		j.Log.Warn("exports that are over could not all be removed; it is tried again", "error", err)
	}
}

func (j *Jobs) tidyOnce(ctx context.Context) error {
	gone, err := j.Gone(ctx)
	if err != nil {
		return err
	}
	lost, err := j.queue.FailLostExports(ctx, export.JobSilence, gone)
	if err != nil {
		return err
	}
	if lost > 0 {
		j.Log.Warn("exports failed, because the process that wrote them is gone", "exports", lost)
	}
	now, err := j.queue.Now(ctx)
	if err != nil {
		return err
	}
	return errors.Join(j.shelf.Sweep(ctx, now), j.queue.PruneExports(ctx, export.JobsKeptSince(now), pruneAtATime))
}

// begin takes exports while there is room.
func (j *Jobs) begin(ctx context.Context, working *sync.WaitGroup) {
	for {
		select {
		case j.room <- struct{}{}:
		default:
			return
		}
		claim := strings.ToLower(rand.Text()[:16])
		job, found, err := j.queue.TakeExport(ctx, claim, j.Process)
		if err != nil || !found {
			<-j.room
			if err != nil && ctx.Err() == nil {
				j.Log.Warn("waiting exports could not be looked for; it is tried again", "error", err)
			}
			return
		}
		working.Go(func() {
			defer j.Wake()
			defer func() { <-j.room }()
			j.work(ctx, job)
		})
	}
}

// Why an export is given up.
var (
	errTaken   = errors.New("it was cancelled, or taken for lost")
	errNoRoom  = errors.New("the files of all exports have reached exports.maxBytes")
	errStopped = errors.New("the process was stopped before the file was whole, and nothing of it is kept: ask for the export again")
)

// work makes one export. Whatever happens, it ends as one that has a whole file or as one
// that has none.
func (j *Jobs) work(ctx context.Context, job export.Job) {
	making, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	signs := &vitals{jobs: j, job: job, stop: stop}
	var alive sync.WaitGroup
	ended := make(chan struct{})
	alive.Go(func() { signs.reportUntilEnded(making, ended) })
	end, err := j.shelf.Make(making, job, signs.note)
	close(ended)
	alive.Wait()
	switch cause := context.Cause(making); {
	case err != nil && ctx.Err() != nil:
		err = errStopped
	case err != nil && cause != nil:
		err = cause
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err == nil {
		end.Status, end.Keep = export.JobSucceeded, j.Keep
		if _, err = j.queue.EndExport(last, job.ID, job.Claim, end); err == nil {
			j.Log.Info("export made", "export", job.ID, "kind", job.Kind, worklog.Source, job.Source, "records", end.Records, "bytes", end.Bytes)
			return
		}
	}
	j.giveUp(last, job, err)
}

// giveUp ends an export that has no whole file: first the file is removed, then it is said.
func (j *Jobs) giveUp(ctx context.Context, job export.Job, why error) {
	if err := j.shelf.Remove(job); err != nil {
		j.Log.Warn("the unfinished file of an export could not be removed; it is tried again", "export", job.ID, "error", err)
	}
	if errors.Is(why, errTaken) || errors.Is(why, fault.ErrStale) {
		j.Log.Info("export given up", "export", job.ID, "reason", why)
		return
	}
	j.Log.Warn("export failed", "export", job.ID, "kind", job.Kind, worklog.Source, job.Source, "error", why)
	if _, err := j.queue.EndExport(ctx, job.ID, job.Claim, export.JobEnd{Status: export.JobFailed, Error: j.tellFailure(job, why)}); err != nil && !errors.Is(err, fault.ErrStale) {
		j.Log.Warn("the end of an export could not be written; it fails as lost in a moment", "export", job.ID, "error", err)
	}
}

// tellFailure says why there is no file. What was not meant for callers is only in the log:
// it may name paths and statements (R12).
func (j *Jobs) tellFailure(job export.Job, why error) string {
	switch {
	case errors.Is(why, errNoRoom):
		return fmt.Sprintf("%v (%d MB): cancel exports that are no longer needed, wait until they expire, export less, or raise exports.maxBytes in patra.yaml", errNoRoom, j.MostBytes>>20)
	case errors.Is(why, errStopped):
		return why.Error()
	case errors.Is(why, fault.ErrFull):
		return "the disk of the exports is full, and nothing of this export was kept: make room there, then ask for the export again"
	case errors.Is(why, fault.ErrInvalid), errors.Is(why, fault.ErrNotFound), errors.Is(why, fault.ErrConflict), errors.Is(why, fault.ErrDamaged):
		return why.Error()
	}
	return fmt.Sprintf("it could not be made; the log has the reason under export %d", job.ID)
}

// vitals are the signs of life of an export.
type vitals struct {
	jobs   *Jobs
	job    export.Job
	stop   context.CancelCauseFunc
	latest atomic.Pointer[export.JobProgress]
	others atomic.Int64 // bytes of all other files
}

// note keeps how far the export has come, and ends it where its file gets too large.
func (v *vitals) note(p export.JobProgress) {
	v.latest.Store(&p)
	v.checkRoom(p)
}

func (v *vitals) checkRoom(p export.JobProgress) {
	if p.Bytes+v.others.Load() > v.jobs.MostBytes {
		v.stop(errNoRoom)
	}
}

// reportUntilEnded stores the progress of the export every LookEvery, which is also its sign of life.
// If the export was cancelled meanwhile, or another process took it for lost, it stops the export.
func (v *vitals) reportUntilEnded(ctx context.Context, ended <-chan struct{}) {
	ticker := time.NewTicker(v.jobs.LookEvery)
	defer ticker.Stop()
	for {
		p := export.JobProgress{}
		if latest := v.latest.Load(); latest != nil {
			p = *latest
		}
		others, err := v.jobs.queue.NoteExportProgress(ctx, v.job.ID, v.job.Claim, p)
		switch {
		case errors.Is(err, fault.ErrStale):
			v.stop(errTaken)
			return
		case err == nil:
			v.others.Store(others)
			v.checkRoom(p)
		}
		select {
		case <-ctx.Done():
			return
		case <-ended:
			return
		case <-ticker.C:
		}
	}
}
