// Package check decides the invariants of the ledger by reading the database:
// the same checks serve tests of every size, on every dialect.
//
// It must share no code with what it checks beyond the schema and the pure
// fold of coverage; it reads with plain SQL and never writes.
package check

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "modernc.org/sqlite"
)

// Open opens a database for reading, given in the form of --db.
func Open(database string) (*sql.DB, error) {
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		return sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=query_only(ON)")
	}
	u, err := url.Parse(database)
	if err != nil {
		return nil, err
	}
	return sql.Open("mysql", fmt.Sprintf("%s@tcp(%s)%s", u.User.String(), u.Host, u.Path))
}

// All runs every check and lists what is wrong.
func All(ctx context.Context, db *sql.DB) (problems []string, err error) {
	for _, c := range counts {
		var n int
		if err := db.QueryRowContext(ctx, c.query).Scan(&n); err != nil {
			return problems, fmt.Errorf("%s: %w", c.rule, err)
		}
		if n != 0 {
			problems = append(problems, fmt.Sprintf("%s: %d rows", c.rule, n))
		}
	}
	for _, f := range []func(context.Context, *sql.DB) ([]string, error){accounting, Tiling} {
		found, err := f(ctx, db)
		if err != nil {
			return problems, err
		}
		problems = append(problems, found...)
	}
	return problems, nil
}

// counts are queries that must find nothing.
var counts = []struct{ rule, query string }{
	{"I9: a body without its event", `SELECT COUNT(*) FROM ing_record_body b LEFT JOIN ing_outbox_message o ON o.body_id = b.body_id WHERE o.id IS NULL`},
	{"I9: an event without its body", `SELECT COUNT(*) FROM ing_outbox_message o LEFT JOIN ing_record_body b ON b.body_id = o.body_id WHERE b.body_id IS NULL`},
	{"I9: more events than bodies", `SELECT (SELECT COUNT(*) FROM ing_outbox_message) - (SELECT COUNT(*) FROM ing_record_body)`},
	{"a head without its body", `SELECT COUNT(*) FROM ing_record r LEFT JOIN ing_record_body b ON b.body_id = r.body_id WHERE b.body_id IS NULL OR b.version <> r.version OR b.id_hash <> r.id_hash`},
	{"I3: versions are not 1…n", `SELECT COUNT(*) FROM (SELECT r.version v, COUNT(*) n FROM ing_record r JOIN ing_record_body b ON b.dataset_id = r.dataset_id AND b.id_hash = r.id_hash GROUP BY r.dataset_id, r.id_hash, r.version) x WHERE x.v <> x.n`},
	{"I7: a batch of an older epoch was committed after a newer one", `SELECT COUNT(*) FROM ing_task_run_batch a JOIN ing_task_run_batch b ON b.task_id = a.task_id AND b.lease_epoch > a.lease_epoch AND b.id < a.id`},
	{"batch numbers have gaps", `SELECT COUNT(*) FROM (SELECT run_id, MAX(batch_no) m, COUNT(*) n FROM ing_task_run_batch GROUP BY run_id) x WHERE x.m <> x.n`},
	{"an ended task holds a lease", `SELECT COUNT(*) FROM ing_task WHERE status_code IN ('SUCCEEDED','FAILED','PARTIAL','CANCELLED') AND (lease_owner IS NOT NULL OR leased_until IS NOT NULL)`},
	{"a leased task has no lease", `SELECT COUNT(*) FROM ing_task WHERE status_code IN ('DISPATCHED','EXECUTING') AND (lease_owner IS NULL OR leased_until IS NULL)`},
	{"a covered slice whose task did not succeed", `SELECT COUNT(*) FROM ing_plan_slice s JOIN ing_task t ON t.slice_id = s.id WHERE s.status_code = 'SUCCEEDED' AND t.status_code <> 'SUCCEEDED'`},
	{"more than one task per slice", `SELECT COUNT(*) FROM (SELECT slice_id, COUNT(*) n FROM ing_task GROUP BY slice_id) x WHERE x.n <> 1`},
	{"I5: the cursor went back", `SELECT COUNT(*) FROM ing_cursor_event WHERE kind_code <> 'MANUAL' AND new_instant < prev_instant`},
	{"I6: another operation wrote a HARVEST cursor", `SELECT COUNT(*) FROM ing_cursor_event e JOIN ing_plan p ON p.id = e.plan_id WHERE e.operation_code <> p.operation_code`},
	{"I10: a task runs another snapshot than its plan", `SELECT COUNT(*) FROM ing_task t JOIN ing_plan p ON p.id = t.plan_id WHERE t.spec_fingerprint <> p.spec_fingerprint`},
	{"batch without evidence", `SELECT COUNT(*) FROM ing_task_run_batch b LEFT JOIN ing_batch_evidence e ON e.batch_id = b.id WHERE e.batch_id IS NULL`},
}

// account is the part of stats that I4 speaks of.
type account struct {
	Seen, Inserted, Updated, Unchanged, Gone, Stale, Duplicate, Outside, Quarantined int
}

func (a account) balanced() bool {
	return a.Seen == a.Inserted+a.Updated+a.Unchanged+a.Gone+a.Stale+a.Duplicate+a.Outside+a.Quarantined
}

func (a account) plus(b account) account {
	return account{
		a.Seen + b.Seen, a.Inserted + b.Inserted, a.Updated + b.Updated, a.Unchanged + b.Unchanged, a.Gone + b.Gone,
		a.Stale + b.Stale, a.Duplicate + b.Duplicate, a.Outside + b.Outside, a.Quarantined + b.Quarantined,
	}
}

// accounting is I4: each batch adds up, each run is the sum of its batches, and
// the bodies are the inserts, updates and removals.
func accounting(ctx context.Context, db *sql.DB) (problems []string, err error) {
	sums := map[int64]account{}
	var total account
	err = each(ctx, db, "SELECT run_id, id, stats FROM ing_task_run_batch WHERE status_code = 'SUCCEEDED'", func(scan func(...any) error) error {
		var run, id int64
		var text string
		var a account
		if err := scan(&run, &id, &text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return err
		}
		if !a.balanced() {
			problems = append(problems, fmt.Sprintf("I4: batch %d does not add up: %+v", id, a))
		}
		sums[run], total = sums[run].plus(a), total.plus(a)
		return nil
	})
	if err != nil {
		return problems, err
	}
	err = each(ctx, db, "SELECT id, COALESCE(stats, '{}') FROM ing_task_run", func(scan func(...any) error) error {
		var id int64
		var text string
		var a account
		if err := scan(&id, &text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			return err
		}
		if a != sums[id] {
			problems = append(problems, fmt.Sprintf("I4: run %d says %+v, its batches %+v", id, a, sums[id]))
		}
		return nil
	})
	if err != nil {
		return problems, err
	}
	var bodies int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM ing_record_body").Scan(&bodies); err != nil {
		return problems, err
	}
	if changes := total.Inserted + total.Updated + total.Gone; changes != bodies {
		problems = append(problems, fmt.Sprintf("I4: batches count %d changes, %d bodies are stored", changes, bodies))
	}
	return problems, nil
}

// span is a stretch of time in microseconds.
type span struct{ from, to int64 }

// Tiling is I1: the leaf slices of a plan follow one another without overlap,
// and cover exactly what its PLANNED event wants. A slice that was replaced
// counts with what it read, its children with the rest.
func Tiling(ctx context.Context, db *sql.DB) (problems []string, err error) {
	leaves := map[int64][]span{}
	err = each(ctx, db, `SELECT s.plan_id, s.window_from, s.window_to, COALESCE(r.window_from, s.window_to), COALESCE(r.window_to, s.window_to)
  FROM ing_plan_slice s JOIN ing_plan p ON p.id = s.plan_id LEFT JOIN ing_reslice_request r ON r.slice_id = s.id AND r.status_code = 'DONE'
  WHERE p.slice_strategy_code = 'TIME'`, func(scan func(...any) error) error {
		var plan int64
		var whole, rest span
		if err := scan(&plan, &whole.from, &whole.to, &rest.from, &rest.to); err != nil {
			return err
		}
		if whole.from >= whole.to {
			problems = append(problems, fmt.Sprintf("I1: plan %d has an empty slice at %d", plan, whole.from))
		}
		for _, part := range []span{{whole.from, rest.from}, {rest.to, whole.to}} {
			if part.from < part.to {
				leaves[plan] = append(leaves[plan], part)
			}
		}
		return nil
	})
	if err != nil {
		return problems, err
	}
	joined := map[int64][]span{}
	for plan, list := range leaves {
		var overlaps []int64
		joined[plan], overlaps = join(list)
		for _, at := range overlaps {
			problems = append(problems, fmt.Sprintf("I1: plan %d has overlapping slices at %d", plan, at))
		}
	}
	err = each(ctx, db, `SELECT e.plan_id, e.window_from, e.window_to, COALESCE(e.spans, '') FROM ing_cursor_event e JOIN ing_plan p ON p.id = e.plan_id
  WHERE e.kind_code = 'PLANNED' AND p.status_code IN ('READY','COMPLETED') AND p.slice_strategy_code = 'TIME'`, func(scan func(...any) error) error {
		var plan int64
		var whole span
		var spans string
		if err := scan(&plan, &whole.from, &whole.to, &spans); err != nil {
			return err
		}
		want, err := wanted(whole, spans)
		if err == nil && !slices.Equal(joined[plan], want) {
			problems = append(problems, fmt.Sprintf("I1: plan %d: slices cover %v, planned is %v", plan, joined[plan], want))
		}
		return err
	})
	return problems, err
}

// join sorts stretches, makes one of those that abut, and tells where some overlap.
func join(list []span) (out []span, overlaps []int64) {
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range list {
		n := len(out)
		if n == 0 || s.from > out[n-1].to {
			out = append(out, s)
			continue
		}
		if s.from < out[n-1].to {
			overlaps = append(overlaps, s.from)
		}
		out[n-1].to = max(out[n-1].to, s.to)
	}
	return out, overlaps
}

// wanted is what a PLANNED event asks for: its whole window, or the stretches it lists.
func wanted(whole span, spans string) (out []span, err error) {
	if spans == "" {
		return []span{whole}, nil
	}
	var list []struct{ From, To time.Time }
	if err := json.Unmarshal([]byte(spans), &list); err != nil {
		return nil, err
	}
	for _, s := range list {
		out = append(out, span{s.From.UnixMicro(), s.To.UnixMicro()})
	}
	return out, nil
}

func each(ctx context.Context, db *sql.DB, query string, row func(scan func(...any) error) error) error {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
