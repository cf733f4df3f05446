package look

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Conditions lists everything that is in force now and is healed automatically, or
// waits for a person: what processes measured, endpoints with an open circuit,
// partitions that were told to wait, plans that wait to be sliced on, harvests
// with a raised lag, and sources that stopped themselves.
func (s *Look) Conditions(ctx context.Context) ([]view.Condition, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	var out []view.Condition
	for _, read := range []func(context.Context, time.Time) ([]view.Condition, error){
		s.measuredConditions, s.openCircuits, s.coolingPartitions, s.waitingPlans, s.raisedLags, s.stoppedSources,
	} {
		part, err := read(ctx, now)
		if err != nil {
			return nil, kernel.Wrap("list conditions", s.db.Translate(err))
		}
		out = append(out, part...)
	}
	slices.SortStableFunc(out, func(a, b view.Condition) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Condition, b.Condition))
	})
	return slices.CompactFunc(out, samePlace), nil // a plan that waits for a condition which is measured too
}

// listConditions reads rows whose first columns are the partition and whose last ones
// are level, since, until and a text.
func (s *Look) listConditions(ctx context.Context, of func(code string) health.Condition, query string, args ...any) (out []view.Condition, err error) {
	rows, err := s.db.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		var c view.Condition
		var code string
		var since, until sql.NullInt64
		var detail sql.NullString
		err := rows.Scan(&c.Source, &c.Endpoint, &c.Operation, &code, &c.Level, &since, &until, &detail)
		c.Condition, c.Since, c.Until, c.Detail = of(code), kernel.Instant(since), kernel.Instant(until), detail.String
		c.Actions = takenActions(c.Condition, c.Level)
		if n := len(out); n > 0 && samePlace(out[n-1], c) {
			return err // of several the worst comes first
		}
		out = append(out, c)
		return err
	})
}

func samePlace(a, b view.Condition) bool {
	return a.Source == b.Source && a.Endpoint == b.Endpoint && a.Operation == b.Operation && a.Condition == b.Condition
}

// takenActions returns the actions of a condition at a level.
func takenActions(c health.Condition, level int) []health.Action {
	out := []health.Action{}
	rule, _ := health.RuleOf(c)
	for _, a := range rule.Actions {
		if rule.Does(a, level) {
			out = append(out, a)
		}
	}
	return out
}

func sameCondition(c health.Condition) func(string) health.Condition {
	return func(string) health.Condition { return c }
}

func (s *Look) measuredConditions(ctx context.Context, now time.Time) ([]view.Condition, error) {
	return s.listConditions(ctx, func(code string) health.Condition { return health.Condition(code) },
		`SELECT provenance_code, endpoint_name, operation_code, condition_code, level_no, since, NULL, detail FROM ing_health WHERE valid_until >= ?
  ORDER BY provenance_code, endpoint_name, operation_code, condition_code, level_no DESC`, kernel.Micros(now))
}

// openCircuits returns the endpoints that nothing is asked of. Their level is how many
// times in a row the circuit was opened.
func (s *Look) openCircuits(ctx context.Context, _ time.Time) ([]view.Condition, error) {
	return s.listConditions(ctx, sameCondition(health.Down),
		"SELECT provenance_code, endpoint_name, '', '', opened, updated_at, open_until, last_error_code FROM ing_breaker WHERE open_until IS NOT NULL")
}

func (s *Look) coolingPartitions(ctx context.Context, now time.Time) (out []view.Condition, err error) {
	all, err := s.Partitions(ctx)
	for _, q := range all {
		if !q.CoolingUntil.After(now) {
			continue
		}
		c := view.Condition{
			Source: q.Partition.Source, Endpoint: q.Partition.Endpoint, Operation: string(q.Partition.Operation), Condition: health.Throttled, Level: 1,
			Actions: []health.Action{health.LowerRate}, Until: q.CoolingUntil, Detail: "waits: " + string(q.CoolingCode),
		}
		if q.CoolingCode.Own() { // the upstream has said nothing
			c.Condition, c.Actions, c.RateKey, c.Waits = health.Held, []health.Action{}, q.RateKey, q.CoolingCode
		}
		out = append(out, c)
	}
	return out, err
}

// waitingPlans returns the plans that were suspended, oldest first: one condition for
// a partition.
func (s *Look) waitingPlans(ctx context.Context, _ time.Time) (out []view.Condition, err error) {
	list, err := s.listConditions(ctx, sameCondition(health.Overstocked), `SELECT provenance_code, endpoint_name, operation_code, '', 1, updated_at, NULL, record_remarks
  FROM ing_plan WHERE status_code = 'PARTIAL' ORDER BY id LIMIT 1000`)
	for _, c := range list {
		var remarks struct{ Suspended ingest.Suspension }
		if json.Unmarshal([]byte(c.Detail), &remarks) != nil {
			continue
		}
		c.Detail = remarks.Suspended.Reason
		if named := remarks.Suspended.Condition; named != "" {
			c.Condition = named
		}
		c.Actions = []health.Action{health.PausePlanning}
		if !slices.ContainsFunc(out, func(o view.Condition) bool { return samePlace(o, c) }) {
			out = append(out, c)
		}
	}
	return out, err
}

func (s *Look) raisedLags(ctx context.Context, _ time.Time) ([]view.Condition, error) {
	rows, err := s.db.Query(ctx, `SELECT p.provenance_code, p.endpoint_name, p.operation_code, p.created_at, g.safety_lag_us, g.declared_lag_us FROM ing_cursor c
  JOIN ing_plan_lag g ON g.cursor_id = c.id AND g.plan_id = (SELECT MAX(n.plan_id) FROM ing_plan_lag n WHERE n.cursor_id = c.id)
  JOIN ing_plan p ON p.id = g.plan_id WHERE g.safety_lag_us > g.declared_lag_us ORDER BY c.id`)
	if err != nil {
		return nil, err
	}
	var out []view.Condition
	return out, kernel.Each(rows, func() error {
		c := view.Condition{Condition: health.Late, Level: 1, Actions: []health.Action{health.RaiseLag}}
		var since sql.NullInt64
		var lag, declared int64
		err := rows.Scan(&c.Source, &c.Endpoint, &c.Operation, &since, &lag, &declared)
		c.Since = kernel.Instant(since)
		c.Detail = duration.Duration(time.Duration(lag)*time.Microsecond).String() + ", declared " + duration.Duration(time.Duration(declared)*time.Microsecond).String()
		out = append(out, c)
		return err
	})
}

// stoppedSources returns the sources that the program stopped automatically.
func (s *Look) stoppedSources(ctx context.Context, _ time.Time) ([]view.Condition, error) {
	return s.listConditions(ctx, sameCondition(health.Fatal), `SELECT provenance_code, endpoint_name, operation_code, '', 1, since, NULL, reason FROM ing_source_state
  WHERE actor = ? ORDER BY provenance_code, endpoint_name, operation_code`, ingest.ByItself)
}

// Healed lists how often each action was taken, by partition.
func (s *Look) Healed(ctx context.Context) (out []view.Healed, err error) {
	rows, err := s.db.Query(ctx, `SELECT provenance_code, endpoint_name, operation_code, action_code, times, last_at FROM ing_health_count
  ORDER BY provenance_code, endpoint_name, operation_code, action_code`)
	if err != nil {
		return nil, kernel.Wrap("list healings", s.db.Translate(err))
	}
	return out, kernel.Wrap("list healings", kernel.Each(rows, func() error {
		var h view.Healed
		var last sql.NullInt64
		err := rows.Scan(&h.Source, &h.Endpoint, &h.Operation, &h.Action, &h.Times, &last)
		h.LastAt = kernel.Instant(last)
		out = append(out, h)
		return err
	}))
}
