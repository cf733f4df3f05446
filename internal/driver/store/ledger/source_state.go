package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// PauseSource stops the work on a scope. Planners plan nothing of it, nothing is
// claimed, and workers hear of it with their next batch (§5.9). A scope that is
// paused stays as it is, with the actor, the reason and the end of the first.
func (s *Ledger) PauseSource(ctx context.Context, scope ingest.Scope, by ingest.Act) (pause ingest.Pause, changed bool, err error) {
	err = s.step(ctx, "pause source", kernel.Urgent, func(t *tx) error {
		var known bool
		var err error
		if err := t.endPauses(); err != nil {
			return err
		}
		if pause, known, err = t.pauseOf(scope); err != nil {
			return err
		}
		if changed = !known; known {
			return nil
		}
		pause = ingest.Pause{Scope: scope, Actor: kernel.Cut(by.Actor, 128), Reason: kernel.Cut(by.Reason, 512), Since: t.Now, Until: window.Instant(by.Until)}
		if !by.Until.IsZero() && !by.Until.After(t.Now) {
			return fmt.Errorf("%w: a pause cannot end at %s: that is past", fault.ErrInvalid, window.Text(by.Until))
		}
		if _, err := t.Exec(`INSERT INTO ing_source_state (provenance_code, endpoint_name, operation_code, state_code, reason, actor, since, paused_until) VALUES (?,?,?,?,?,?,?,?)`,
			scope.Source, scope.Endpoint, string(scope.Operation), string(ingest.SourcePaused), pause.Reason, pause.Actor, kernel.Micros(t.Now), kernel.Micros(pause.Until)); err != nil {
			return err
		}
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		var detail map[string]any
		if !pause.Until.IsZero() {
			detail = map[string]any{"until": pause.Until}
		}
		return t.auditScope("source.pause", scope, by, detail)
	})
	return pause, changed, kernel.Performed(err)
}

// ResumeSource ends the pause of a scope and tells which it was. Pauses of wider
// or narrower scopes stay.
func (s *Ledger) ResumeSource(ctx context.Context, scope ingest.Scope, by ingest.Act) (was ingest.Pause, changed bool, err error) {
	err = s.step(ctx, "resume source", kernel.Urgent, func(t *tx) error {
		var err error
		if was, changed, err = t.pauseOf(scope); err != nil || !changed {
			return err
		}
		if err := t.ExecOne("DELETE FROM ing_source_state WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ?",
			scope.Source, scope.Endpoint, string(scope.Operation)); err != nil {
			return err
		}
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		if err := t.noteChange(scope, ingest.ChangeResumed, ""); err != nil {
			return err
		}
		return t.auditScope("source.resume", scope, by, map[string]any{"pausedBy": was.Actor, "pausedSince": was.Since})
	})
	return was, changed, kernel.Performed(err)
}

// endPauses ends the pauses whose time has come, as a person would: what failed before is
// tried again, and the log tells of it.
func (t *tx) endPauses() error {
	rows, err := t.Query(pauseColumns+" WHERE paused_until <= ?", kernel.Micros(t.Now))
	if err != nil {
		return err
	}
	var over []ingest.Pause
	if err := kernel.Each(rows, func() error {
		p, err := scanPause(rows)
		over = append(over, p)
		return err
	}); err != nil {
		return err
	}
	for _, p := range over {
		n, err := t.Affected("DELETE FROM ing_source_state WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ? AND paused_until <= ?",
			p.Source, p.Endpoint, string(p.Operation), kernel.Micros(t.Now))
		if err != nil {
			return err
		}
		if n == 0 {
			continue // another process was first
		}
		if err := t.noteChange(p.Scope, ingest.ChangeResumed, ""); err != nil {
			return err
		}
		ended := ingest.Act{Actor: p.Actor, Reason: "its time has come"}
		if err := t.auditScope("source.resume", p.Scope, ended, map[string]any{"pausedBy": p.Actor, "pausedSince": p.Since, "until": p.Until}); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) auditScope(action string, scope ingest.Scope, by ingest.Act, detail map[string]any) error {
	return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: action, Object: "source/" + scope.String(), Reason: by.Reason, Detail: detail})
}

const pauseColumns = "SELECT provenance_code, endpoint_name, operation_code, actor, reason, since, paused_until FROM ing_source_state"

func scanPause(rows kernel.Scanner) (p ingest.Pause, err error) {
	var reason sql.NullString
	var since, until sql.NullInt64
	err = rows.Scan(&p.Source, &p.Endpoint, &p.Operation, &p.Actor, &reason, &since, &until)
	p.Reason, p.Since, p.Until = reason.String, kernel.Instant(since), kernel.Instant(until)
	return p, err
}

// pauseOf returns the pause of exactly this scope. The row is locked: of two who
// end it, one finds it gone.
func (t *tx) pauseOf(scope ingest.Scope) (p ingest.Pause, ok bool, err error) {
	p, err = scanPause(t.Row(pauseColumns+" WHERE provenance_code = ? AND endpoint_name = ? AND operation_code = ?"+t.Dialect().ForUpdate,
		scope.Source, scope.Endpoint, string(scope.Operation)))
	ok, err = kernel.Found(err)
	return p, ok, err
}

// Pauses lists what is paused of a source, or of all, wider scopes first.
func (s *Ledger) Pauses(ctx context.Context, source string) (out []ingest.Pause, err error) {
	rows, err := s.db.Query(ctx, pauseColumns+" WHERE (? = '' OR provenance_code = ?) ORDER BY provenance_code, endpoint_name, operation_code", source, source)
	if err != nil {
		return nil, kernel.Wrap("list pauses", s.db.Translate(err))
	}
	ending := false
	if err := kernel.Each(rows, func() error {
		p, err := scanPause(rows)
		out, ending = append(out, p), ending || !p.Until.IsZero()
		return err
	}); err != nil || !ending {
		return out, kernel.Wrap("list pauses", err)
	}
	now, err := s.db.Now(ctx)
	return slices.DeleteFunc(out, func(p ingest.Pause) bool { return !p.Until.IsZero() && !p.Until.After(now) }), err
}

// Paused returns the widest pause that a partition is under.
func (s *Ledger) Paused(ctx context.Context, of ingest.Partition) (pause ingest.Pause, paused bool, err error) {
	all, err := s.Pauses(ctx, of.Source)
	if err != nil {
		return pause, false, fmt.Errorf("look for a pause: %w", err)
	}
	for _, p := range all {
		if p.Covers(of) {
			return p, true, nil
		}
	}
	return pause, false, nil
}
