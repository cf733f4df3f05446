package bench

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
)

// partitions are the queues of every database: half of the tasks are in the
// first one, the rest is spread over the others.
const partitions = 10

// benchClaim measures one claim at several depths of the queue. The depths take
// turns claim by claim, so that the machine's mood hits all of them.
func benchClaim(b *testing.B, k kind, out *table) {
	depths := []int{10_000, 100_000}
	if k.name == "SQLite" || proof() {
		depths = append(depths, 1_000_000)
	}
	queues := make([]*queue, len(depths))
	for i, depth := range depths {
		queues[i] = newQueue(b, k, depth)
	}
	b.Run("one partition", func(b *testing.B) {
		benchClaimFrom(b, k, queues, out, "one partition", func(int) int { return 0 })
	})
	b.Run("ten partitions", func(b *testing.B) {
		benchClaimFrom(b, k, queues, out, "ten partitions in turn", func(no int) int { return no % partitions })
	})
	b.Run("look", func(b *testing.B) {
		benchQueues(b, k, queues, out, "look at the queues", func(q *queue) error {
			_, err := q.store.Queues(b.Context())
			return err
		})
	})
	b.Run("planning", func(b *testing.B) { benchPlanning(b, k, queues, out) })
}

func benchClaimFrom(b *testing.B, k kind, queues []*queue, out *table, what string, partition func(no int) int) {
	benchQueues(b, k, queues, out, "claim from "+what, func(q *queue) error { return q.claim(b.Context(), partition(q.claims)) })
}

func benchQueues(b *testing.B, k kind, queues []*queue, out *table, what string, do func(*queue) error) {
	took := make([]samples, len(queues))
	repeat(b, 300, func() {
		for i, q := range queues {
			took[i].time(b, func() error { return do(q) })
			q.restore(b)
		}
	})
	for i, q := range queues {
		out.add(b, line{
			what: fmt.Sprintf("%s, %s queued, %s (mean / p95)", what, human(q.depth), k.name),
			ours: took[i].String(), reference: took[0].String(), ratio: took[i].middle(took[0]),
			reads: "time / time with 10 k queued; medians",
		})
	}
}

func human(n int) string {
	if n >= 1_000_000 {
		return fmt.Sprintf("%d M", n/1_000_000)
	}
	return fmt.Sprintf("%d k", n/1000)
}

// queue is a database with many queued tasks.
type queue struct {
	store      *store.Store
	db         *sql.DB
	depth      int
	plan       int64 // of the first partition
	partitions []int64
	claims     int
}

func newQueue(tb testing.TB, k kind, depth int) *queue {
	tb.Helper()
	base := k.fresh(tb)
	q := &queue{store: base.open(tb, false), db: base.bare(tb, 1, "FULL"), depth: depth}
	for i := range partitions {
		plan := openPlan(tb, q.store, fmt.Sprintf("source-%d", i))
		if i == 0 {
			q.plan = plan.ID
		}
	}
	q.load(tb)
	states, err := q.store.Queues(tb.Context())
	if err != nil || len(states) != partitions {
		tb.Fatalf("%d queues, want %d: %v", len(states), partitions, err)
	}
	for i, s := range states {
		q.partitions = append(q.partitions, s.PartitionID)
		if err := q.claim(tb.Context(), i); err != nil { // the first claim of a connection prepares its statements
			tb.Fatal(err)
		}
	}
	return q
}

// load copies the plans' tasks until there are enough, in one transaction. The
// copies share their plan's slice row: a claim reads it by its primary key, so
// a million of them would only make loading slower.
func (q *queue) load(tb testing.TB) {
	tb.Helper()
	tx, err := q.db.BeginTx(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer tx.Rollback() // after a commit this does nothing
	for _, statement := range []string{"CREATE TABLE digit (n INTEGER)", "INSERT INTO digit VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)"} {
		if _, err := tx.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatal(err)
		}
	}
	if _, err := tx.ExecContext(tb.Context(), copyTasks, q.depth-partitions); err != nil {
		tb.Fatalf("load %d tasks: %v", q.depth, err)
	}
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
	var queued int
	if err := q.db.QueryRowContext(tb.Context(), "SELECT COUNT(*) FROM ing_task WHERE status_code = 'QUEUED'").Scan(&queued); err != nil || queued != q.depth {
		tb.Fatalf("%d tasks queued, want %d: %v", queued, q.depth, err)
	}
}

// copyTasks makes as many tasks as its argument says, each due a microsecond
// after the one before. Task n is a copy of the first one if n is even, else of
// the others in turn. The numbers come from a table of digits because databases
// bound recursion differently.
const copyTasks = `INSERT INTO ing_task (schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code,
  spec_fingerprint, params, idempotent_key, expr_hash, priority, status_code, scheduled_at, created_at, updated_at)
SELECT t.schedule_instance_id, t.plan_id, t.slice_id, t.partition_id, t.provenance_code, t.endpoint_name, t.operation_code, t.spec_fingerprint, t.params,
  CONCAT('copy', SUBSTR(CONCAT('00000000', numbers.n), -8), SUBSTR(t.idempotent_key, 13)), t.expr_hash, t.priority, t.status_code,
  t.scheduled_at + numbers.n, t.created_at, t.updated_at
FROM ` + numbersTo + `,
  ing_task t
WHERE numbers.n <= ? AND t.id = CASE numbers.n % 2 WHEN 0 THEN 1 ELSE 2 + numbers.n % 9 END`

func (q *queue) claim(ctx context.Context, partition int) error {
	q.claims++
	_, err := claim(ctx, q.store, q.partitions[partition], q.claims)
	return err
}

// restoreEvery keeps the smallest queue nearly full.
const restoreEvery = 1000

// restore puts claimed tasks back from time to time, so that none runs dry.
func (q *queue) restore(tb testing.TB) {
	if q.claims >= restoreEvery {
		q.claims = 0
		exec(tb, q.db, "UPDATE ing_task SET status_code = 'QUEUED', claim_token = NULL, lease_owner = NULL, leased_until = NULL WHERE status_code = 'DISPATCHED'")
	}
}
