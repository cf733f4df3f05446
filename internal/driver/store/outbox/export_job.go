package outbox

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// AskExport takes down that somebody wants an export. The same key of the same caller is
// the same export (R11); for something else it is refused.
func (s *Outbox) AskExport(ctx context.Context, w export.Wish, by ingest.Act) (job export.Job, repeated bool, err error) {
	err = s.step(ctx, "ask for export", kernel.Urgent, func(t *tx) error {
		actor := kernel.Cut(by.Actor, 128)
		question, err := json.Marshal(w.Question)
		if err != nil {
			return err
		}
		repeated, err = kernel.Found(scanJob(&job, t.Row("SELECT "+look.JobColumns+" FROM ing_export x WHERE x.actor = ? AND x.request_key = ?", actor, w.Key)))
		if err != nil {
			return err
		}
		if repeated {
			return checkSame(job, w, question)
		}
		if err := t.checkExportRoom(actor, w.MostBytes); err != nil {
			return err
		}
		job = export.Job{Kind: w.Kind, Status: export.JobQueued, Source: w.Source, Endpoint: w.Endpoint, Question: w.Question, Actor: actor, Reason: kernel.Cut(by.Reason, 512), CreatedAt: t.Now}
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		if job.ID, err = t.Insert(`INSERT INTO ing_export (kind_code, status_code, actor, request_key, reason, provenance_code, endpoint_name, question_json, records, share_done, bytes, created_at)
  VALUES (?,?,?,?,?,?,?,?,0,0,0,?)`, string(job.Kind), string(job.Status), actor, w.Key, job.Reason, job.Source, job.Endpoint, string(question), kernel.Micros(t.Now)); err != nil {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "export.ask", Object: jobObject(job.ID), Reason: by.Reason, Detail: map[string]any{
			"kind": job.Kind, "source": job.Source, "endpoint": job.Endpoint, "question": json.RawMessage(question),
		}})
	})
	return job, repeated, kernel.Performed(err)
}

// checkSame refuses a key that stands for another question.
func checkSame(job export.Job, w export.Wish, question []byte) error {
	before, err := json.Marshal(job.Question)
	if err != nil {
		return err
	}
	if job.Kind != w.Kind || job.Source != w.Source || job.Endpoint != w.Endpoint || string(before) != string(question) {
		return kernel.Refuse(fault.ErrConflict, fmt.Sprintf("this Idempotency-Key was used for export %d, which asked for something else: use a new key", job.ID))
	}
	return nil
}

// checkExportRoom refuses more exports than a caller may have at once, and files that no
// room is left for.
func (t *tx) checkExportRoom(actor string, most int64) error {
	var open int
	if err := t.Row("SELECT COUNT(*) FROM ing_export WHERE actor = ? AND status_code IN ('QUEUED','RUNNING')", actor).Scan(&open); err != nil {
		return err
	}
	if open >= export.MostOpenJobs {
		return kernel.Refuse(fault.ErrConflict, fmt.Sprintf("%d exports of this token wait or run: wait until one has ended, or cancel one", open))
	}
	taken, err := t.exportBytes(0)
	if err == nil && taken >= most {
		err = kernel.Refuse(fault.ErrConflict, fmt.Sprintf("the files of all exports take %d MB of the %d MB allowed: cancel exports that are no longer needed, wait until they expire, or raise exports.maxBytes in patra.yaml", taken>>20, most>>20))
	}
	return err
}

// exportBytes sums up the files that are there or on their way, one apart.
func (t *tx) exportBytes(apart int64) (sum int64, err error) {
	return sum, t.Row("SELECT COALESCE(SUM(bytes), 0) FROM ing_export WHERE id <> ? AND (status_code = 'RUNNING' OR status_code = 'SUCCEEDED' AND expires_at > ?)",
		apart, kernel.Micros(t.Now)).Scan(&sum)
}

// TakeExport gives the export that waits longest to a process, under a name that is new for
// each time it takes one.
func (s *Outbox) TakeExport(ctx context.Context, claim, process string) (job export.Job, found bool, err error) {
	err = s.step(ctx, "take export", kernel.Urgent, func(t *tx) error {
		found, err = kernel.Found(scanJob(&job, t.Row("SELECT "+look.JobColumns+" FROM ing_export x WHERE x.status_code = 'RUNNING' AND x.claim_key = ?", claim)))
		if err != nil || found {
			return err
		}
		found, err = kernel.Found(scanJob(&job, t.Row("SELECT "+look.JobColumns+" FROM ing_export x WHERE x.status_code = 'QUEUED' ORDER BY x.id LIMIT 1"+t.Dialect().ForUpdate)))
		if err != nil || !found {
			return err
		}
		job.Status, job.Claim, job.StartedAt = export.JobRunning, claim, t.Now
		return t.ExecOne("UPDATE ing_export SET status_code = 'RUNNING', claim_key = ?, process_id = ?, started_at = ?, heartbeat_at = ? WHERE id = ?",
			claim, process, kernel.Micros(t.Now), kernel.Micros(t.Now), job.ID)
	})
	return job, found, err
}

// NoteExportProgress writes how far an export has come, which is a sign of life too. An
// export that was cancelled or given to nobody meanwhile is ErrStale (I7). Others are the
// bytes that all other files take.
func (s *Outbox) NoteExportProgress(ctx context.Context, id int64, claim string, p export.JobProgress) (others int64, err error) {
	err = s.step(ctx, "note progress of export", kernel.Bulk, func(t *tx) error {
		n, err := t.Affected("UPDATE ing_export SET records = ?, share_done = ?, bytes = ?, heartbeat_at = ? WHERE id = ? AND status_code = 'RUNNING' AND claim_key = ?",
			p.Records, p.Share, p.Bytes, kernel.Micros(t.Now), id, claim)
		if err == nil && n == 0 {
			err = errNotOurs(id)
		}
		if err != nil {
			return err
		}
		others, err = t.exportBytes(id)
		return err
	})
	return others, err
}

func errNotOurs(id int64) error {
	return fmt.Errorf("%w: export %d is not ours any more", fault.ErrStale, id)
}

// EndExport ends an export that a process took. One that it ended before is left as it is.
func (s *Outbox) EndExport(ctx context.Context, id int64, claim string, end export.JobEnd) (job export.Job, err error) {
	err = s.step(ctx, "end export", kernel.Urgent, func(t *tx) error {
		if err := t.lockJob(&job, id); err != nil {
			return err
		}
		switch {
		case job.Claim == claim && job.Status == end.Status:
			return nil // our answer got lost
		case job.Claim != claim || job.Status != export.JobRunning:
			return errNotOurs(id)
		}
		share, expires := job.Share, time.Time{}
		if end.Status == export.JobSucceeded {
			share, expires = 1, t.Now.Add(end.Keep)
		}
		if err := t.ExecOne(`UPDATE ing_export SET status_code = ?, records = ?, share_done = ?, bytes = ?, file_name = ?, sha256 = ?, mark_text = ?, error_msg = ?, finished_at = ?, expires_at = ?
  WHERE id = ?`, string(end.Status), end.Records, share, end.Bytes, kernel.OrNull(end.File), kernel.OrNull(end.SHA256), kernel.OrNull(cmp.Or(end.Cursor, end.Seal)),
			kernel.OrNull(kernel.Cut(end.Error, 512)), kernel.Micros(t.Now), kernel.Micros(expires), id); err != nil {
			return err
		}
		return t.readJob(&job, id)
	})
	return job, err
}

// CancelExport stops an export, or gives its file up. One that has neither is left as it is.
func (s *Outbox) CancelExport(ctx context.Context, id int64, by ingest.Act) (job export.Job, changed bool, err error) {
	err = s.step(ctx, "cancel export", kernel.Urgent, func(t *tx) error {
		changed = false
		if err := t.lockJob(&job, id); err != nil {
			return err
		}
		if !job.Status.Open() && !job.Ready(t.Now) {
			return nil
		}
		was := job.Status
		job.Status, job.FinishedAt, changed = export.JobCancelled, t.Now, true
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		if err := t.ExecOne("UPDATE ing_export SET status_code = 'CANCELLED', finished_at = ? WHERE id = ?", kernel.Micros(t.Now), id); err != nil {
			return err
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "export.cancel", Object: jobObject(id), Reason: by.Reason, Detail: map[string]any{"was": was, "asked": job.Actor}})
	})
	return job, changed, kernel.Performed(err)
}

// lostText is told of an export whose process ended without a word.
const lostText = "the process that wrote it ended before the file was whole, and nothing of it is kept: ask for the export again"

// FailLostExports fails exports that nobody writes any more: their process gave no sign of
// life for a time, or is known to be gone.
func (s *Outbox) FailLostExports(ctx context.Context, silence time.Duration, gone []string) (lost int, err error) {
	err = s.step(ctx, "fail lost exports", kernel.Urgent, func(t *tx) error {
		ids, err := t.IDs("SELECT id FROM ing_export WHERE status_code = 'RUNNING' AND heartbeat_at < ? ORDER BY id", kernel.Micros(t.Now.Add(-silence)))
		if err != nil {
			return err
		}
		for _, process := range gone {
			more, err := t.IDs("SELECT id FROM ing_export WHERE status_code = 'RUNNING' AND process_id = ? ORDER BY id", process)
			if err != nil {
				return err
			}
			ids = append(ids, more...)
		}
		slices.Sort(ids)
		ids = slices.Compact(ids)
		lost = len(ids)
		return t.ExecIn("UPDATE ing_export SET status_code = 'FAILED', error_msg = ?, finished_at = ? WHERE status_code = 'RUNNING' AND id IN ", ids, lostText, kernel.Micros(t.Now))
	})
	return lost, err
}

// ExportProcesses lists the processes that write exports.
func (s *Outbox) ExportProcesses(ctx context.Context) (out []string, err error) {
	rows, err := s.db.Query(ctx, "SELECT DISTINCT process_id FROM ing_export WHERE status_code = 'RUNNING' ORDER BY process_id")
	if err != nil {
		return nil, kernel.Wrap("list processes of exports", s.db.Translate(err))
	}
	return out, kernel.Wrap("list processes of exports", kernel.Each(rows, func() error {
		var process string
		err := rows.Scan(&process)
		out = append(out, process)
		return err
	}))
}

// PruneExports removes what is known of exports that ended before an instant, some at a
// time. The audit log keeps who asked for them.
func (s *Outbox) PruneExports(ctx context.Context, before time.Time, limit int) error {
	return s.step(ctx, "prune exports", kernel.Bulk, func(t *tx) error {
		ids, err := t.IDs("SELECT id FROM ing_export WHERE finished_at < ? ORDER BY finished_at LIMIT ?", kernel.Micros(before), limit)
		if err != nil {
			return err
		}
		return t.ExecIn("DELETE FROM ing_export WHERE id IN ", ids)
	})
}

func (t *tx) lockJob(job *export.Job, id int64) error {
	err := kernel.OrNotFound(scanJob(job, t.Row("SELECT "+look.JobColumns+" FROM ing_export x WHERE x.id = ?"+t.Dialect().ForUpdate, id)))
	if err != nil {
		err = fmt.Errorf("export %d: %w", id, err)
	}
	return err
}

func (t *tx) readJob(job *export.Job, id int64) error {
	return scanJob(job, t.Row("SELECT "+look.JobColumns+" FROM ing_export x WHERE x.id = ?", id))
}

func scanJob(job *export.Job, row kernel.Scanner) (err error) {
	*job, err = look.ScanJob(row)
	return err
}

func jobObject(id int64) string { return fmt.Sprintf("export/%d", id) }
