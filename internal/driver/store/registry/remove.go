package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// RemoveSource ends the definition of a source now: no version of it is in force any more,
// and none that was scheduled begins. Nothing else is touched. What was in force before can
// still be read by its date, and whatever was harvested stays. A source without a version
// stays without one, and nothing is written.
//
// A source that somebody works on is left alone: its tasks would go on by themselves with
// nobody to plan what they leave. So is one with a backfill that is not over.
func (s *Registry) RemoveSource(ctx context.Context, code string, by ingest.Act) (done registry.Removal, err error) {
	err = s.step(ctx, "remove source", kernel.Bulk, func(t *tx) error {
		done, err = t.removeSource(code, by)
		return err
	})
	return done, kernel.Performed(err)
}

func (t *tx) removeSource(code string, by ingest.Act) (done registry.Removal, err error) {
	p, err := t.readProvenance(code)
	if err != nil {
		return done, err
	}
	stored, err := t.openRows(p)
	if err != nil {
		return done, err
	}
	line := timeline{rows: stored, now: p.now, at: p.now}
	change := line.planTurn(nil)
	if len(change.end)+len(change.retire) == 0 {
		return done, nil // there is none, or this very call removed it and its answer was lost
	}
	if err := t.refuseWorked(code); err != nil {
		return done, err
	}
	done = registry.Removal{At: p.now, Rows: change.countChanges(), Superseded: change.countSuperseded()}
	if by.Rehearsal {
		return done, kernel.ErrRehearsed
	}
	if err := t.writeProvenance(&p, code); err != nil {
		return done, err
	}
	if err := t.rewriteRows(p, change, line); err != nil {
		return done, err
	}
	return done, t.Audit(kernel.AuditEntry{
		At: p.now, Actor: by.Actor, Action: "source.remove", Object: "source/" + code, Reason: by.Reason,
		Detail: map[string]any{"endedAt": p.now.Format(time.RFC3339Nano), "rows": done.Rows, "superseded": done.Superseded, "version": p.version},
	})
}

// refuseWorked refuses while tasks of a source wait or run, or a backfill of it goes on.
func (t *tx) refuseWorked(code string) error {
	for _, open := range []struct{ what, query, next string }{
		{"task waits or runs", "SELECT COUNT(*) FROM ing_task WHERE status_code IN ('SCHEDULED','QUEUED','DISPATCHED','EXECUTING') AND provenance_code = ?",
			"`patra plan list " + code + "` names their plans, `patra plan cancel` ends one"},
		{"backfill is not over", "SELECT COUNT(*) FROM ing_campaign WHERE state_code IN ('ACTIVE','PAUSED') AND provenance_code = ?",
			"`patra backfill list` lists it, `patra backfill cancel` ends it"},
	} {
		var n int
		if err := t.Row(open.query, code).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			return fmt.Errorf("%w: source %s was not removed: %d %s; %s", fault.ErrConflict, code, n, open.what, open.next)
		}
	}
	return nil
}
