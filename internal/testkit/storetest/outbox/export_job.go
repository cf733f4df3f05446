package outbox

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// wished is an export of data under a key.
func wished(key string) export.Wish {
	return export.Wish{Kind: export.JobData, Key: key, Source: "crossref", Endpoint: "works", Question: export.Question{Format: export.CSV, Fields: []string{"title", "DOI"}}, MostBytes: 1000}
}

func (w *world) ask(key string) export.Job {
	w.Helper()
	job, _, err := w.Store.AskExport(w.Ctx, wished(key), fixture.Tester)
	w.Must(err)
	return job
}

func (w *world) take(claim string) export.Job {
	w.Helper()
	job, found, err := w.Store.TakeExport(w.Ctx, claim, "process-"+claim)
	w.Must(err)
	if !found {
		w.Fatal("no export waits")
	}
	return job
}

// whole is how an export ends that went well.
var whole = export.JobEnd{Status: export.JobSucceeded, Records: 7, Bytes: 70, File: "records.csv", SHA256: fixture.Long("a", 64), Cursor: "px1-x", Keep: time.Hour}

func (w *world) jobOf(id int64) export.Job {
	w.Helper()
	job, err := w.Store.Export(w.Ctx, id)
	w.Must(err)
	return job
}

func (w *world) auditedJobs(action string) int64 {
	w.Helper()
	return w.Number("SELECT COUNT(*) FROM ing_audit_log WHERE action = ?", action)
}

func (s suite) exportJobs(t *testing.T) {
	s.test(t, "an export is asked for, taken, told of and ended", func(w *world) {
		asked := w.ask("k")
		if stored := w.jobOf(asked.ID); !reflect.DeepEqual(stored, asked) {
			w.Errorf("%+v, asked for as %+v", stored, asked)
		}
		job := w.take("c1")
		if job.ID != asked.ID || job.Status != export.JobRunning || job.Claim != "c1" || !reflect.DeepEqual(w.jobOf(job.ID), job) {
			w.Errorf("%+v", job)
		}
		if _, found, err := w.Store.TakeExport(w.Ctx, "c2", "p"); err != nil || found {
			w.Errorf("an export that is taken is given away again: %v %v", found, err)
		}
		w.Clock.Advance(time.Minute)
		others, err := w.Store.NoteExportProgress(w.Ctx, job.ID, "c1", export.JobProgress{Records: 3, Bytes: 30, Share: 0.5})
		w.Must(err)
		if got := w.jobOf(job.ID); others != 0 || got.Records != 3 || got.Bytes != 30 || got.Share != 0.5 {
			w.Errorf("%d others, %+v", others, got)
		}
		done, err := w.Store.EndExport(w.Ctx, job.ID, "c1", whole)
		w.Must(err)
		if done.Status != export.JobSucceeded || done.Share != 1 || done.File != "records.csv" || done.Cursor != "px1-x" || !done.ExpiresAt.Equal(fixture.Noon.Add(61*time.Minute)) || !reflect.DeepEqual(done, w.jobOf(job.ID)) {
			w.Errorf("%+v", done)
		}
		if n := w.auditedJobs("export.ask"); n != 1 {
			w.Errorf("%d rows of the audit log", n)
		}
	})
	s.test(t, "the same key is the same export, for the same question of the same caller", func(w *world) {
		first := w.ask("k")
		w.Unchanged("asking again", func() {
			again, repeated, err := w.Store.AskExport(w.Ctx, wished("k"), fixture.Tester)
			w.Must(err)
			if !repeated || again.ID != first.ID {
				w.Errorf("%v %+v", repeated, again)
			}
			other := wished("k")
			other.Question.Format = export.JSONL
			_, _, err = w.Store.AskExport(w.Ctx, other, fixture.Tester)
			w.Refuses(err, fault.ErrConflict, "the key for something else")
			_, _, err = w.Store.AskExport(w.Ctx, wished("dry"), ingest.Act{Actor: "tester", Rehearsal: true})
			w.Must(err)
		})
		job, repeated, err := w.Store.AskExport(w.Ctx, wished("k"), ingest.Act{Actor: "another", Reason: "x"})
		w.Must(err)
		if repeated || job.ID == first.ID {
			w.Error("the key of one caller is that of another")
		}
		mine, err := w.Store.Exports(w.Ctx, view.Filter{Limit: 10}, "another")
		w.Must(err)
		all, err := w.Store.Exports(w.Ctx, view.Filter{Limit: 10, Source: "crossref"}, "")
		w.Must(err)
		none, err := w.Store.Exports(w.Ctx, view.Filter{Limit: 10, Source: "pubmed"}, "")
		w.Must(err)
		if len(mine) != 1 || mine[0].ID != job.ID || len(all) != 2 || len(none) != 0 {
			w.Errorf("lists of %d, %d and %d", len(mine), len(all), len(none))
		}
	})
	s.test(t, "a caller has some exports at once, and all files a bound", func(w *world) {
		for i := range export.MostOpenJobs {
			w.ask(fmt.Sprint("k", i))
		}
		_, _, err := w.Store.AskExport(w.Ctx, wished("one more"), fixture.Tester)
		w.Refuses(err, fault.ErrConflict, "one more")
		first, second := w.take("c1"), w.take("c2")
		end := whole
		end.Bytes = 999
		_, err = w.Store.EndExport(w.Ctx, first.ID, "c1", end)
		w.Must(err)
		others, err := w.Store.NoteExportProgress(w.Ctx, second.ID, "c2", export.JobProgress{Bytes: 1})
		w.Must(err)
		if others != 999 {
			w.Errorf("the other files take %d", others)
		}
		_, _, err = w.Store.AskExport(w.Ctx, wished("no room"), fixture.Tester)
		w.Refuses(err, fault.ErrConflict, "no room is left")
		w.Clock.Advance(time.Hour) // the first file expires
		_, _, err = w.Store.AskExport(w.Ctx, wished("no room"), fixture.Tester)
		w.Must(err)
	})
	s.test(t, "an export that is cancelled takes no more words of its process", func(w *world) {
		job := w.ask("k")
		w.take("c1")
		w.Unchanged("a rehearsal", func() {
			_, changed, err := w.Store.CancelExport(w.Ctx, job.ID, ingest.Act{Actor: "x", Rehearsal: true})
			w.Must(err)
			if !changed {
				w.Error("it would change nothing")
			}
		})
		ended, changed, err := w.Store.CancelExport(w.Ctx, job.ID, fixture.Tester)
		w.Must(err)
		_, again, err := w.Store.CancelExport(w.Ctx, job.ID, fixture.Tester)
		w.Must(err)
		if !changed || again || ended.Status != export.JobCancelled || w.auditedJobs("export.cancel") != 1 {
			w.Errorf("%v %v %+v", changed, again, ended)
		}
		w.Unchanged("what its process still says", func() {
			_, err := w.Store.NoteExportProgress(w.Ctx, job.ID, "c1", export.JobProgress{Records: 9})
			w.Refuses(err, fault.ErrStale, "progress")
			_, err = w.Store.EndExport(w.Ctx, job.ID, "c1", whole)
			w.Refuses(err, fault.ErrStale, "the end")
		})
		done := w.ask("k2")
		w.take("c2")
		_, err = w.Store.EndExport(w.Ctx, done.ID, "c2", whole)
		w.Must(err)
		if _, changed, err = w.Store.CancelExport(w.Ctx, done.ID, fixture.Tester); err != nil || !changed {
			w.Errorf("a file is not given up: %v %v", changed, err)
		}
		_, _, err = w.Store.CancelExport(w.Ctx, 99, fixture.Tester)
		w.Refuses(err, fault.ErrNotFound, "one that never was")
	})
	s.test(t, "an export whose process is lost fails, and others do not", func(w *world) {
		for i := range 3 {
			w.ask(fmt.Sprint("k", i))
		}
		silent, gone := w.take("silent"), w.take("gone")
		w.Clock.Advance(export.JobSilence)
		lives := w.take("lives")
		_, err := w.Store.NoteExportProgress(w.Ctx, gone.ID, "gone", export.JobProgress{})
		w.Must(err)
		w.Clock.Advance(time.Second)
		processes, err := w.Store.ExportProcesses(w.Ctx)
		w.Must(err)
		if !reflect.DeepEqual(processes, []string{"process-gone", "process-lives", "process-silent"}) {
			w.Errorf("processes: %v", processes)
		}
		n, err := w.Store.FailLostExports(w.Ctx, export.JobSilence, []string{"process-gone", "process-silent"})
		w.Must(err)
		if n != 2 || w.jobOf(silent.ID).Status != export.JobFailed || w.jobOf(gone.ID).Status != export.JobFailed || w.jobOf(lives.ID).Status != export.JobRunning || w.jobOf(gone.ID).Error == "" {
			w.Errorf("%d failed: %+v %+v %+v", n, w.jobOf(silent.ID), w.jobOf(gone.ID), w.jobOf(lives.ID))
		}
		_, err = w.Store.EndExport(w.Ctx, silent.ID, "silent", whole)
		w.Refuses(err, fault.ErrStale, "the end of a process that was taken for dead")
	})
	s.test(t, "what ended long ago is forgotten, and nothing else", func(w *world) {
		w.ask("over")
		w.take("c1")
		_, err := w.Store.EndExport(w.Ctx, 1, "c1", whole)
		w.Must(err)
		w.Clock.Advance(fixture.Day)
		w.ask("waits")
		w.ask("newer")
		newer := w.take("c2")
		_, err = w.Store.EndExport(w.Ctx, newer.ID, "c2", export.JobEnd{Status: export.JobFailed, Error: "no"})
		w.Must(err)
		w.Must(w.Store.PruneExports(w.Ctx, fixture.Noon.Add(time.Hour), 10))
		if n := w.Number("SELECT COUNT(*) FROM ing_export"); n != 2 {
			w.Errorf("%d rows are left", n)
		}
	})
}

func lossyJobs() []lossy {
	asked := func(w *world) export.Job {
		w.ask("k")
		return w.take("c")
	}
	return []lossy{
		{"ask for export", "ask for export", func(w *world) func() (answer, error) {
			return func() (answer, error) {
				job, _, err := w.Store.AskExport(w.Ctx, wished("k"), fixture.Tester)
				return job, err
			}
		}},
		{"take export", "take export", func(w *world) func() (answer, error) {
			w.ask("k")
			w.ask("k2")
			return func() (answer, error) {
				job, _, err := w.Store.TakeExport(w.Ctx, "c", "p")
				return job, err
			}
		}},
		{"note progress of export", "note progress of export", func(w *world) func() (answer, error) {
			job := asked(w)
			return func() (answer, error) {
				others, err := w.Store.NoteExportProgress(w.Ctx, job.ID, "c", export.JobProgress{Records: 1})
				return others, err
			}
		}},
		{"end export", "end export", func(w *world) func() (answer, error) {
			job := asked(w)
			return func() (answer, error) {
				done, err := w.Store.EndExport(w.Ctx, job.ID, "c", whole)
				return done, err
			}
		}},
		{"cancel export", "cancel export", func(w *world) func() (answer, error) {
			job := asked(w)
			return func() (answer, error) {
				done, _, err := w.Store.CancelExport(w.Ctx, job.ID, fixture.Tester)
				return done, err
			}
		}},
		{"fail lost exports", "fail lost exports", func(w *world) func() (answer, error) {
			asked(w)
			return func() (answer, error) {
				_, err := w.Store.FailLostExports(w.Ctx, export.JobSilence, []string{"process-c"})
				return nil, err
			}
		}},
		{"prune exports", "prune exports", func(w *world) func() (answer, error) {
			_, err := w.Store.EndExport(w.Ctx, asked(w).ID, "c", whole)
			w.Must(err)
			w.Clock.Advance(fixture.Day)
			return func() (answer, error) { return nil, w.Store.PruneExports(w.Ctx, fixture.Noon.Add(time.Hour), 10) }
		}},
	}
}
