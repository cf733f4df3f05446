package bench

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// busiest is the partition with half of the tasks.
var busiest = ingest.Partition{Dataset: ingest.Dataset{Source: "source-0", Endpoint: "works"}, Operation: ingest.Harvest}

// stockAsked is a threshold that every queue has reached: the cost of asking
// grows with the threshold, not with what lies behind it.
const stockAsked = 2000

// benchPlanning measures what planning asks before it draws anything, at several
// sizes of the tables that grow with the tasks.
func benchPlanning(b *testing.B, k kind, queues []*queue, out *table) {
	namespace := ingest.HarvestNamespace(busiest.Dataset, "indexed", fingerprint.Key("all"))
	for _, q := range queues {
		q.grow(b)
	}
	for _, question := range []struct {
		name, what string
		ask        func(*queue) (answered bool, err error)
	}{
		{"stock", "is a stock of 2,000 reached", func(q *queue) (bool, error) { return q.store.StockAtLeast(b.Context(), busiest, stockAsked) }},
		{"book", "read the coverage of a cursor", func(q *queue) (bool, error) {
			state, known, err := q.store.CoverageState(b.Context(), namespace)
			return known && len(state.Segments) == 1, err
		}},
		{"open plans", "list the open plans of a partition", func(q *queue) (bool, error) {
			open, err := q.store.OpenPlans(b.Context(), busiest)
			return len(open) == 1 && len(open[0].Owed) == 1, err
		}},
		{"windows", "list the windows of a plan", func(q *queue) (bool, error) {
			planned, err := q.store.PlannedWindows(b.Context(), q.plan)
			return len(planned[""]) == 1, err
		}},
	} {
		b.Run(question.name, func(b *testing.B) {
			benchQueues(b, k, queues, out, question.what, func(q *queue) error {
				answered, err := question.ask(q)
				if err == nil && !answered {
					b.Errorf("%s with %d tasks: not the answer", question.what, q.depth)
				}
				return err
			})
		})
	}
}

// grow adds a slice and an event of the cursor for every task, as if they all had
// been worked on: queries of one plan must not see them.
func (q *queue) grow(tb testing.TB) {
	tb.Helper()
	for _, statement := range []string{copySlices, copyEvents} {
		exec(tb, q.db, statement, q.depth)
	}
}

const (
	numbersTo  = `(SELECT 1 + a.n + 10*b.n + 100*c.n + 1000*d.n + 10000*e.n + 100000*f.n AS n FROM digit f, digit e, digit d, digit c, digit b, digit a) numbers`
	copySlices = `INSERT INTO ing_plan_slice (plan_id, provenance_code, slice_no, slice_signature_hash, slice_spec, window_from, window_to, expr_hash, status_code,
  created_at, updated_at)
SELECT 1000 + numbers.n % 1000, s.provenance_code, numbers.n, CONCAT('copy', SUBSTR(CONCAT('00000000', numbers.n), -8), SUBSTR(s.slice_signature_hash, 13)),
  '{}', s.window_from, s.window_to, s.expr_hash, 'SUCCEEDED', s.created_at, s.updated_at
FROM ` + numbersTo + `, ing_plan_slice s WHERE numbers.n <= ? AND s.id = 1`
	copyEvents = `INSERT INTO ing_cursor_event (cursor_id, kind_code, provenance_code, operation_code, cursor_key, namespace_scope_code, namespace_key,
  cursor_type_code, window_from, window_to, as_of, event_at, direction_code, idempotent_key, schedule_instance_id, plan_id, slice_id, created_at)
SELECT o.cursor_id, 'SUCCEEDED', o.provenance_code, o.operation_code, o.cursor_key, o.namespace_scope_code, o.namespace_key, o.cursor_type_code,
  o.window_from, o.window_to, o.as_of, o.event_at, o.direction_code, CONCAT('copy', SUBSTR(CONCAT('00000000', numbers.n), -8), SUBSTR(o.idempotent_key, 13)),
  o.schedule_instance_id, o.plan_id, numbers.n, o.created_at
FROM ` + numbersTo + `, ing_cursor_event o WHERE numbers.n <= ? AND o.id = 1`
)
