package look

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

const triggerColumns = `SELECT i.id, i.trigger_key, i.triggered_at, i.trigger_type_code, i.scheduler_code, i.scheduler_job_id, i.scheduler_log_id, i.provenance_code,
  i.trigger_params, i.record_remarks, COALESCE(p.id, 0), COALESCE(p.status_code, '') FROM `

// triggerPlan joins the first plan of a trigger: a tick may make two, of which the other
// follows signals.
const triggerPlan = ` LEFT JOIN ing_plan p ON p.id = (SELECT MIN(own.id) FROM ing_plan own WHERE own.schedule_instance_id = i.id)`

// Triggers lists who asked for work, newest first. The status of the filter is one of
// view's states of a trigger.
func (s *Look) Triggers(ctx context.Context, f view.Filter) (out []view.TriggerRow, err error) {
	state := f.Status
	if state != "" && state != view.TriggerRefused && state != view.TriggerPlanned {
		return nil, fmt.Errorf("list triggers: %w: status: expected %s or %s", fault.ErrInvalid, view.TriggerPlanned, view.TriggerRefused)
	}
	f.Status = ""
	err = s.listRows(ctx, "list triggers", triggerColumns+page+triggerPlan, "ing_schedule_instance", "i", f, func(w *kernel.Where) {
		const made = "EXISTS (SELECT 1 FROM ing_plan made WHERE made.schedule_instance_id = i.id)"
		w.Add(state == view.TriggerRefused, "(i.record_remarks IS NOT NULL AND NOT "+made+") = ?", 1)
		w.Add(state == view.TriggerPlanned, "("+made+") = ?", 1)
	}, func(rows *sql.Rows) error {
		v, err := scanTrigger(rows)
		out = append(out, v)
		return err
	})
	return out, err
}

// TriggerOfKey finds a trigger by its key; false if nobody asked under it.
func (s *Look) TriggerOfKey(ctx context.Context, key string) (v view.TriggerRow, known bool, err error) {
	known, err = kernel.Found(scanInto(&v, s.db.QueryRow(ctx, triggerColumns+"ing_schedule_instance i"+triggerPlan+" WHERE i.trigger_key = ?", key)))
	return v, known, kernel.Wrap("find trigger", s.db.Translate(err))
}

func scanInto(v *view.TriggerRow, row kernel.Scanner) (err error) {
	*v, err = scanTrigger(row)
	return err
}

func scanTrigger(rows kernel.Scanner) (v view.TriggerRow, err error) {
	var at sql.NullInt64
	var job, log, params, remarks sql.NullString
	if err := rows.Scan(&v.ID, &v.Key, &at, &v.Type, &v.Scheduler, &job, &log, &v.Source, &params, &remarks, &v.PlanID, &v.PlanStatus); err != nil {
		return v, err
	}
	v.At, v.JobID, v.LogID, v.Params = kernel.Instant(at), job.String, log.String, kernel.RawJSON(params)
	if v.PlanID == 0 {
		v.Refused = refusalIn(remarks.String)
	}
	return v, nil
}

// refusalIn reads why a trigger led to no plan. Remarks of another shape are given as
// they are.
func refusalIn(remarks string) string {
	var said struct{ Refused string }
	if remarks == "" || json.Unmarshal([]byte(remarks), &said) != nil || said.Refused == "" {
		return remarks
	}
	return said.Refused
}
