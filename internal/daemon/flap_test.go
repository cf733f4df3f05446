package daemon

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/inspect"
)

// day is a day of virtual time on a real database: what happens at each look, and what was
// found then.
type day struct {
	*testing.T
	app   *App
	db    *sql.DB
	now   time.Time
	start time.Time
}

func (d *day) exec(query string, args ...any) {
	d.Helper()
	if _, err := d.db.ExecContext(d.Context(), query, args...); err != nil {
		d.Fatalf("%s: %s: %v", d.now.Format("15:04"), query, err)
	}
}

func (d *day) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// at reports whether it is that time now, within a look.
func (d *day) at(clock string) bool { return d.now.Format("15:04") == clock }

// within reports whether it is between two times of the day.
func (d *day) within(from, to string) bool {
	now := d.now.Format("15:04")
	return from <= now && now < to
}

// pass lets faults come and go, some of them up and down while they last.
func (d *day) pass(n int) {
	ctx, us := d.Context(), d.now.UnixMicro()
	beat := func(id, roles string) {
		_, err := d.app.store.Heartbeat(ctx, ingest.Process{ID: id, Roles: roles, Host: "attic", PID: 1}, 2*lookEach)
		d.must(err)
	}
	beat("b", "executor")
	if d.within("00:00", "02:00") { // killed
		beat("a", "executor,planner")
	} else if d.within("04:00", "99") {
		beat("c", "executor,planner")
	}
	errors, throttled := 1, 0
	if d.within("06:00", "08:00") {
		errors = []int{30, 9, 12, 2}[n%4]
	}
	if d.within("09:00", "09:30") {
		throttled = 20
	}
	d.exec(`INSERT INTO ing_work_sum (slot_seconds, slot_start, provenance_code, endpoint_name, operation_code, runs_succeeded, runs_failed, runs_partial, runs_cancelled,
  batches, batches_failed, items_seen, items_inserted, items_updated, items_unchanged, items_gone, items_stale, items_duplicate, items_outside, items_quarantined, items_late,
  requests, retries, throttled, answers, took_ms, slowest_ms, wait_ms, bytes_in, errors_l1, errors_l2, errors_l3, errors_l4)
  VALUES (300, ?, 'crossref', 'works', 'HARVEST', 1,0,0,0, 100,0,0,0,0,0,0,0,0,0,0,0, 100,0,?,0,0,0,0,0,?,0,0,0)`, us, throttled, errors)
	scope, by := ingest.Scope{Source: "crossref"}, ingest.Act{Actor: ingest.ByItself, Reason: "401"}
	if d.at("10:00") {
		_, _, err := d.app.store.PauseSource(ctx, scope, by)
		d.must(err)
	}
	if d.at("11:00") {
		_, _, err := d.app.store.ResumeSource(ctx, scope, by)
		d.must(err)
	}
	d.passTroubles(n, us)
	d.passRows(n, us)
}

// passTroubles lets a circuit open again and again, and pages be slow.
func (d *day) passTroubles(n int, us int64) {
	switch {
	case d.at("12:00"):
		d.exec("INSERT INTO ing_breaker (provenance_code, endpoint_name, failures, opened, open_until, last_error_code, updated_at) VALUES ('crossref', 'works', 5, 1, ?, 'NET', ?)", us+60e6, us)
	case d.within("12:00", "13:30"):
		d.exec("UPDATE ing_breaker SET opened = opened + 1, open_until = ?, updated_at = ?", us+int64(n%3)*60e6-60e6, us) // sometimes over, and not tried yet
	case d.at("13:30"):
		d.exec("DELETE FROM ing_breaker")
	case d.at("14:00"):
		d.exec("INSERT INTO ing_health (provenance_code, endpoint_name, operation_code, condition_code, owner, level_no, since, valid_until) VALUES ('crossref', 'works', 'HARVEST', 'SLOW', 'b', 1, ?, ?)", us, us+600e6)
	case d.within("14:00", "16:00"):
		d.exec("UPDATE ing_health SET valid_until = ?, level_no = ?", us+600e6, 1+n%3)
	}
}

// passRows lets items come into quarantine, and a plan wait that no process takes.
func (d *day) passRows(n int, us int64) {
	if d.at("17:00") {
		d.exec("INSERT INTO ing_dataset (provenance_code, endpoint_name, created_at) VALUES ('crossref', 'works', ?)", us)
	}
	if d.within("17:00", "18:00") {
		for i := range 10 + 20*(n%2) {
			d.exec(`INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index, reason_code, raw_hash, codec, status_code, created_at, updated_at)
  SELECT id, ?, 'crossref', 'works', 1, 1, 1, 1, 1, 0, 'NO_ID', 'x', 'none', 'OPEN', ?, 0 FROM ing_dataset`, fmt.Sprint(n, "-", i), us)
		}
	}
	if d.at("20:00") {
		d.exec("DELETE FROM ing_quarantine")
	}
	if d.at("21:00") {
		d.exec(`INSERT INTO ing_plan (schedule_instance_id, plan_key, partition_id, cursor_id, provenance_code, endpoint_name, operation_code, expr_proto_hash, expr_id, mapping_id,
  spec_fingerprint, provenance_config_hash, as_of, slice_strategy_code, status_code, created_at, updated_at) VALUES (1, 'k', 1, 1, 'crossref', 'works', 'HARVEST', 'x', 1, 1, 'x', 'x', 0, 'TIME', 'READY', ?, ?)`, us, us)
		d.exec(`INSERT INTO ing_task (schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code, spec_fingerprint, idempotent_key, expr_hash, priority,
  status_code, scheduled_at, created_at, updated_at) SELECT 1, id, 1, 1, 'crossref', 'works', 'HARVEST', 'x', 'k', 'x', 50, 'QUEUED', 0, 0, 0 FROM ing_plan`)
	}
	if d.at("22:00") {
		d.exec(`INSERT INTO ing_task_run (task_id, lease_epoch, attempt_no, plan_id, provenance_code, operation_code, status_code, created_at)
  SELECT id, 1, 1, plan_id, 'crossref', 'HARVEST', 'SUCCEEDED', 0 FROM ing_task`)
	}
}

// story is what became of one cause over the day.
type story struct {
	opened, resolved int
	open             bool
}

// In a day in which faults come and go, each cause is told once and is over once: a finding
// that flaps wakes people for nothing.
func TestNoFindingFlaps(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		migrate(t, database)
		d := &day{T: t, db: openBeside(t, database), start: time.Date(2031, 3, 9, 0, 0, 0, 0, time.UTC)}
		d.now = d.start
		var err error
		d.app, err = Open(t.Context(), Config{Database: database, Clock: func() time.Time { return d.now }})
		d.must(err)
		defer d.app.Close()
		d.judge(d.live())
	})
}

// live passes the day, and returns the story of each cause.
func (d *day) live() map[string]*story {
	stories := map[string]*story{}
	for n := 0; d.now.Before(d.start.Add(24 * time.Hour)); n++ {
		d.pass(n)
		s, err := d.app.Inspect.Status(d.Context(), inspect.StatusQuery{EventsAge: time.Hour})
		d.must(err)
		open := map[string]bool{}
		for _, f := range s.Findings {
			if f.Code == view.FoundClockOff || f.Code == view.FoundDiskLow { // of the real machine
				continue
			}
			open[fmt.Sprintf("%s %+v", f.Code, f.Subject)] = true
		}
		for cause := range open {
			if stories[cause] == nil {
				stories[cause] = &story{}
			}
		}
		for cause, s := range stories {
			switch {
			case open[cause] && !s.open:
				s.opened++
				d.Logf("%s opens  %s", d.now.Format("15:04"), cause)
			case !open[cause] && s.open:
				s.resolved++
				d.Logf("%s ends   %s", d.now.Format("15:04"), cause)
			}
			s.open = open[cause]
		}
		d.now = d.now.Add(lookEach)
	}
	return stories
}

// judge refuses what flapped, was not told or is not over.
func (d *day) judge(stories map[string]*story) {
	var told []string
	for cause, s := range stories {
		code, _, _ := strings.Cut(cause, " ")
		told = append(told, code)
		if s.opened != 1 || s.resolved != 1 {
			d.Errorf("%s: opened %d times, over %d times", cause, s.opened, s.resolved)
		}
	}
	slices.Sort(told)
	want := []string{"CONDITION", "CONDITION", "ERRORS_HIGH", "PAUSED", "PLAN_IDLE", "PROCESS_GONE", "QUARANTINED", "THROTTLED_HIGH"}
	if !slices.Equal(told, want) {
		d.Errorf("told of %v, want %v", told, want)
	}
}
