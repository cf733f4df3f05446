package ledger

import (
	"context"
	"database/sql"
	"math/rand/v2"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// noteBreaker lets the breaker of an endpoint know how a run ended, and tells
// until when that opened it; zero if it did not. It is stored with the end of the
// run, so that all processes see it (D§5.23).
func (t *tx) noteBreaker(in ingest.Finish, a attempt) (opened time.Time, err error) {
	o := in.Outcome
	failed := fault.Code(o.Code).Breaks()
	if failed && o.Apart {
		return opened, nil
	}
	if !failed && o.Run != ingest.RunSucceeded && o.Run != ingest.RunPartial {
		return opened, nil // cancelled, refused, or our own fault: it says nothing of the upstream
	}
	if !failed && !a.breaker {
		return opened, nil
	}
	was, known, err := t.readBreaker(a.of, t.Dialect().ForUpdate)
	if err != nil || !known && !failed {
		return opened, err
	}
	now := was.NoteAfter(in.CircuitAfter, failed, o.Stats.Pages > 0 || o.Answered, t.Now, rand.Float64())
	if now.Opened > was.Opened {
		opened = now.OpenUntil
	}
	return opened, t.saveBreaker(a.of, known, was, now, o.Code)
}

// countClaimable returns how many of the wanted tasks of a partition may be claimed.
// While its breaker is half open that is one for the whole endpoint, which looks.
// Queues says so too, but several processes may have read it before one of them
// claimed.
func (t *tx) countClaimable(partition int64, wanted int) (int, error) {
	var d ingest.Dataset
	var until sql.NullInt64
	known, err := kernel.Found(t.Row(`SELECT b.provenance_code, b.endpoint_name, b.open_until FROM ing_partition p
  JOIN ing_breaker b ON b.provenance_code = p.provenance_code AND b.endpoint_name = p.endpoint_name WHERE p.id = ?`, partition).Scan(&d.Source, &d.Endpoint, &until))
	if seen := (fault.Breaker{OpenUntil: kernel.Instant(until)}); !known || err != nil || seen.State(t.Now) != fault.BreakerHalfOpen {
		return wanted, err
	}
	if _, known, err := t.readBreaker(d, t.Dialect().ForUpdate); !known || err != nil { // one after the other
		return wanted, err
	}
	var running int
	err = t.Row(`SELECT COUNT(*) FROM ing_partition p JOIN ing_task t ON t.partition_id = p.id WHERE p.provenance_code = ? AND p.endpoint_name = ?
  AND t.status_code IN ('DISPATCHED','EXECUTING')`, d.Source, d.Endpoint).Scan(&running)
	return max(min(wanted, 1-running), 0), err
}

// isAlone reports whether no other task waits to know if the upstream is back: other slices of the plan were read, and every
// task of the endpoint that still waits has failed already. If the run fails too, it is most likely its slice that cannot be
// read, and not the upstream that is down (decision 163).
func (t *tx) isAlone(w ingest.Work) (bool, error) {
	var one int
	read, err := kernel.Found(t.Row("SELECT 1 FROM ing_plan_slice WHERE plan_id = ? AND status_code = 'SUCCEEDED' LIMIT 1", w.Lineage.PlanID).Scan(&one))
	if !read || err != nil {
		return false, err
	}
	others, err := kernel.Found(t.Row(`SELECT 1 FROM ing_partition p JOIN ing_task t ON t.partition_id = p.id WHERE p.provenance_code = ? AND p.endpoint_name = ?
  AND t.status_code IN ('QUEUED','SCHEDULED') AND t.id <> ? AND NOT EXISTS (SELECT 1 FROM ing_task_run r WHERE r.task_id = t.id AND r.status_code = 'FAILED') LIMIT 1`,
		w.Partition.Source, w.Partition.Endpoint, w.Lease.TaskID).Scan(&one))
	return !others, err
}

// noteAnswered closes the breaker of an endpoint whose first page came: what is left
// of a long run must not keep all others waiting.
func (t *tx) noteAnswered(d ingest.Dataset) error {
	_, err := t.Exec("DELETE FROM ing_breaker WHERE provenance_code = ? AND endpoint_name = ?", d.Source, d.Endpoint)
	return err
}

// LookAgain lets one run look at once whether an upstream is back, instead of when its
// breaker would: somebody asks for it now (D§5.31). A breaker that is closed stays so.
func (s *Ledger) LookAgain(ctx context.Context, d ingest.Dataset) error {
	return s.step(ctx, "look again", kernel.Urgent, func(t *tx) error {
		_, err := t.Exec("UPDATE ing_breaker SET open_until = ?, updated_at = ? WHERE provenance_code = ? AND endpoint_name = ? AND open_until > ?",
			kernel.Micros(t.Now), kernel.Micros(t.Now), d.Source, d.Endpoint, kernel.Micros(t.Now))
		return err
	})
}

func (t *tx) saveBreaker(d ingest.Dataset, known bool, was, now fault.Breaker, code string) error {
	switch {
	case now == was:
		return nil
	case now == fault.Breaker{}:
		return t.ExecOne("DELETE FROM ing_breaker WHERE provenance_code = ? AND endpoint_name = ?", d.Source, d.Endpoint)
	case !known:
		_, err := t.Exec("INSERT INTO ing_breaker (failures, opened, open_until, last_error_code, updated_at, provenance_code, endpoint_name) VALUES (?,?,?,?,?,?,?)",
			now.Failures, now.Opened, kernel.Micros(now.OpenUntil), kernel.OrNull(code), kernel.Micros(t.Now), d.Source, d.Endpoint)
		return err
	}
	return t.ExecOne("UPDATE ing_breaker SET failures = ?, opened = ?, open_until = ?, last_error_code = ?, updated_at = ? WHERE provenance_code = ? AND endpoint_name = ?",
		now.Failures, now.Opened, kernel.Micros(now.OpenUntil), kernel.OrNull(code), kernel.Micros(t.Now), d.Source, d.Endpoint)
}

// readBreaker reads the breaker of an endpoint; one without a row is closed.
func (t *tx) readBreaker(d ingest.Dataset, lock string) (b fault.Breaker, known bool, err error) {
	var until sql.NullInt64
	known, err = kernel.Found(t.Row("SELECT failures, opened, open_until FROM ing_breaker WHERE provenance_code = ? AND endpoint_name = ?"+lock,
		d.Source, d.Endpoint).Scan(&b.Failures, &b.Opened, &until))
	b.OpenUntil = kernel.Instant(until)
	return b, known, err
}
