package daemon

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	streaming "github.com/patra-ingest/patra/internal/engine/export"
)

// Exports are files that surfaces are asked for: records, and black boxes of batches. They are
// made one after the other by whoever serves the HTTP interface.
type Exports struct {
	app    *App
	config config.Exports
	shelf  *shelf // nil where no folder is known
	jobs   *streaming.Jobs
}

func newExports(a *App) *Exports {
	x := &Exports{app: a, config: a.config.Installed.Exports.WithDefaults()}
	x.config.Dir = cmp.Or(x.config.Dir, besideFile(a.config.Database, ".exports"))
	if x.config.Dir == "" {
		return x
	}
	x.shelf = &shelf{a, x.config.Dir}
	x.jobs = streaming.NewJobs(a.store, x.shelf, streaming.JobsConfig{
		Process: a.identity.ID, AtOnce: x.config.AtOnce, Keep: x.config.KeepFor.Std(), MostBytes: x.config.MaxBytes, Gone: x.listGone, Log: a.config.Log, LookEvery: a.config.Entrance.LookEvery,
	})
	return x
}

// errNoExports: there is no place for files.
var errNoExports = fmt.Errorf("%w: exports have no folder here: with a database on a server, exports.dir of patra.yaml names one, on a disk that all processes of the HTTP interface see", fault.ErrInvalid)

// Ask takes an export down, after what can be known to go wrong was refused.
func (x *Exports) Ask(ctx context.Context, w export.Wish, by ingest.Act) (out export.Asked, err error) {
	if x.jobs == nil {
		return out, errNoExports
	}
	if w, err = x.check(ctx, w); err != nil {
		return out, err
	}
	if w.Key == "" {
		w.Key = rand.Text()
	}
	out.Job, out.Repeated, err = x.app.store.AskExport(ctx, w, by)
	if out.DryRun = by.Rehearsal; err == nil && !by.Rehearsal {
		x.jobs.Wake()
	}
	return out, err
}

// check refuses what could not be exported, and names what it is of.
func (x *Exports) check(ctx context.Context, w export.Wish) (export.Wish, error) {
	w.MostBytes = x.config.MaxBytes
	if w.Kind == export.JobBlackBox {
		of, err := x.app.Replays.FindAim(ctx, BatchRef{BatchID: w.Question.Batch})
		if err != nil {
			return w, err
		}
		w.Source, w.Endpoint = of.Source, of.Endpoint
		_, err = w.Question.Use()
		return w, err
	}
	d, err := x.app.Dataset(ctx, strings.TrimSuffix(w.Source+"/"+w.Endpoint, "/"))
	if err != nil {
		return w, err
	}
	w.Endpoint = d.Endpoint
	order, err := w.Question.Order(w.Source, w.Endpoint)
	if err != nil {
		return w, err
	}
	_, err = x.app.completeOrder(ctx, order)
	return w, err
}

// List lists exports, newest first; those of one caller if actor is given.
func (x *Exports) List(ctx context.Context, f view.Filter, actor string) ([]export.Job, error) {
	return x.app.store.Exports(ctx, f, actor)
}

// Show reads one export.
func (x *Exports) Show(ctx context.Context, id int64) (export.Job, error) {
	return x.app.store.Export(ctx, id)
}

// Cancel stops an export, or removes its file.
func (x *Exports) Cancel(ctx context.Context, id int64, by ingest.Act) (out export.JobEnded, err error) {
	was, err := x.Show(ctx, id)
	if err != nil {
		return out, err
	}
	if out.Job, out.Changed, err = x.app.store.CancelExport(ctx, id, by); err != nil || !out.Changed {
		return out, err
	}
	if out.DryRun = by.Rehearsal; by.Rehearsal || was.Status == export.JobRunning || x.shelf == nil {
		return out, nil // who writes a file removes it itself
	}
	if err := x.shelf.Remove(out.Job); err != nil {
		x.app.config.Log.Warn("the file of an export could not be removed; it is tried again", "export", id, "error", err)
	}
	return out, nil
}

// Open opens the file of an export, after the audit log has who reads it (R13).
func (x *Exports) Open(ctx context.Context, j export.Job, by ingest.Act) (io.ReadSeekCloser, error) {
	now, err := x.app.Now(ctx)
	if err == nil {
		err = j.CheckReady(now)
	}
	if err != nil {
		return nil, err
	}
	if x.shelf == nil {
		return nil, errNoExports
	}
	file, err := x.shelf.Open(j)
	if err != nil {
		return nil, err
	}
	if err := x.app.store.NoteReading(ctx, access.Reading{Kind: access.ReadExport, Object: fmt.Sprintf("export/%d", j.ID)}, by); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// Run makes exports until ctx ends.
func (x *Exports) Run(ctx context.Context) error {
	if x.jobs == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return x.jobs.Run(ctx)
}

// listGone lists processes of this machine that wrote exports and run no longer.
func (x *Exports) listGone(ctx context.Context) ([]string, error) {
	processes, err := x.app.store.ExportProcesses(ctx)
	return slices.DeleteFunc(processes, func(id string) bool {
		p, ok := processOf(id)
		mine := x.app.identity
		before := p.Host == mine.Host && p.PID == mine.PID && id != mine.ID // it had our number before us
		return !ok || !before && !x.app.isGone(p)
	}), err
}
