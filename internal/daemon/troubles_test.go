package daemon

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/freshness"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/skew"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/upsim"
)

// trouble is one cause that must be told as one finding: how it comes about in a world, and how
// it ends.
type trouble struct {
	code   view.FindingCode
	about  view.Subject // the number of a cursor aside
	heals  bool
	raised view.Severity           // by its facts; empty: that of its code
	fact   func(view.Finding) bool // that it must have

	bring func(w *world)
	lasts func(w *world, n int) // at each look while it lasts: it goes up and down
	mend  func(w *world)

	after time.Duration // it was brought, until it is found
	calm  time.Duration // it was mended, until it is over
	stays time.Duration // how long it lasts once it is found; 0: troubleLasts
	// beside: it has nothing to do with how work goes, so it may come together with others.
	beside bool
}

var (
	ofSource   = view.Subject{Source: "crossref"}
	ofEndpoint = view.Subject{Source: "crossref", Endpoint: "works"}
	ofHarvest  = view.Subject{Source: "crossref", Endpoint: "works", Operation: "HARVEST"}
	byAnn      = ingest.Act{Actor: "ann", Reason: "a trial"}
)

// troubles has one entry for each kind of finding.
func troubles() []trouble {
	var all []trouble
	for _, some := range [][]trouble{troublesOfSources(), troublesOfWatermarks(), troublesOfWork(), troublesOfAnswers(), troublesOfEvents(), troublesOfDatabases(), troublesOfMachines(), troublesOfShares()} {
		all = append(all, some...)
	}
	return all
}

func troublesOfSources() []trouble {
	back := func(w *world) { w.apply(nil) }
	return []trouble{
		{
			code: view.FoundUncomputable, about: ofSource,
			bring: func(w *world) { w.broken = true },
			mend:  func(w *world) { w.broken = false },
		},
		{
			code: view.FoundUnreadable, about: ofSource,
			bring: func(w *world) { w.setRole("SEARCH", "NONSENSE") },
			mend:  func(w *world) { w.setRole("NONSENSE", "SEARCH") },
		},
		{
			code: view.FoundUnplannable, about: ofSource,
			bring: func(w *world) {
				w.apply(forgetDates)
			},
			mend: back,
		},
		{
			code: view.FoundUntrusted, about: ofSource,
			bring: func(w *world) {
				key := exchange.Credential{Type: "API_KEY", Name: "X-Key"}
				w.must(key.Value.UnmarshalText([]byte("env:KEY_OF_ANOTHER")))
				w.apply(func(src *registry.Source) {
					src.Credentials, src.Auth = map[string]exchange.Credential{"key": key}, &exchange.Auth{Credential: "key"}
				})
			},
			mend: back,
		},
		{
			code: view.FoundPaused, about: ofSource,
			bring: func(w *world) {
				_, err := w.app.Operator.Pause(w.Context(), ingest.Scope{Source: "crossref"}, byAnn)
				w.must(err)
			},
			mend: func(w *world) {
				_, err := w.app.Operator.Resume(w.Context(), ingest.Scope{Source: "crossref"}, byAnn)
				w.must(err)
			},
		},
		{
			code: view.FoundCondition, about: view.Subject{Source: "crossref", Endpoint: "works", Condition: "UPSTREAM_DOWN"}, heals: true,
			bring: func(w *world) {
				w.exec("INSERT INTO ing_breaker (provenance_code, endpoint_name, failures, opened, open_until, last_error_code, updated_at) VALUES ('crossref', 'works', 5, 1, ?, 'NET', ?)", w.us(time.Minute), w.us(0))
			},
			lasts: func(w *world, n int) { // sometimes the wait is over, and nothing is asked yet
				w.exec("UPDATE ing_breaker SET open_until = ?, updated_at = ?", w.us(time.Duration(n%3-1)*time.Minute), w.us(0))
			},
			mend: func(w *world) { w.exec("DELETE FROM ing_breaker") },
		},
	}
}

func troublesOfWatermarks() []trouble {
	return []trouble{
		{
			code: view.FoundGap, about: ofEndpoint,
			bring: func(w *world) {
				w.fault(upsim.Fault{Kind: upsim.FaultHTML200})
				w.fire()
			},
			mend: func(w *world) {
				w.fault()
				w.retry()
			},
		},
		{
			code: view.FoundRanges, about: view.Subject{Source: "crossref", Endpoint: "works", Operation: "BACKFILL"},
			bring: func(w *world) {
				w.fault(upsim.Fault{Kind: upsim.FaultHTML200})
				w.backfillDay()
			},
			mend: func(w *world) {
				w.fault()
				w.backfillDay()
			},
		},
		{
			code: view.FoundBehind, about: ofEndpoint,
			bring: func(w *world) {
				most := duration.Duration(time.Minute)
				w.apply(func(src *registry.Source) { src.Alerts = &freshness.Config{MaxLag: &most} })
			},
			mend: func(w *world) { w.apply(nil) },
		},
		{
			code: view.FoundStalled, about: ofEndpoint, heals: true, after: 95 * time.Minute,
			bring: func(w *world) { // the next tick leads to a task that takes very long
				w.leave = func(plan int64) {
					w.exec("UPDATE ing_task SET status_code = 'EXECUTING', lease_owner = 'attic', lease_epoch = 1, leased_until = ? WHERE plan_id = ?", w.us(2*time.Hour), plan)
					w.addRun(plan, "RUNNING", "{}")
				}
			},
			mend: func(w *world) {
				w.exec("DELETE FROM ing_task_run WHERE plan_id = ?", w.begun)
				w.exec("UPDATE ing_task SET status_code = 'QUEUED', lease_owner = NULL, lease_epoch = 0, leased_until = NULL WHERE plan_id = ?", w.begun)
				w.workLeft()
			},
		},
		{
			code: view.FoundOverdue, about: ofEndpoint,
			bring: func(w *world) {
				w.apply(func(src *registry.Source) { src.Schedule = nil })
				w.backdatePlans()
			},
			mend: func(w *world) { w.apply(nil) },
		},
		{
			code: view.FoundRefused, about: ofHarvest, after: lookEach,
			bring: func(w *world) {
				w.fire()
				w.exec("UPDATE ing_schedule_instance SET record_remarks = '{\"refused\":\"the window is empty\"}' WHERE id = (SELECT schedule_instance_id FROM ing_schedule_state)")
			},
			mend: func(w *world) { w.fire() },
		},
		{
			code: view.FoundSilent, about: ofHarvest, after: 2*time.Hour + lookEach,
			bring: func(w *world) { w.mute = true },
			mend: func(w *world) {
				w.mute = false
				w.fire()
			},
		},
		{
			code: view.FoundShortfall, about: ofEndpoint,
			bring: func(w *world) { w.noteCount(500, view.CountsShort) },
			lasts: func(w *world, n int) { w.noteCount(int64(500+n%2), view.CountsShort) },
			mend:  func(w *world) { w.noteCount(w.readOf(w.yesterday()), view.CountsAgree) },
		},
		{
			code: view.FoundThin, about: ofEndpoint,
			bring: func(w *world) { // one item where there were five hundred in each of the weeks before
				day := w.yesterday()
				for week := range 5 {
					from := day.From.AddDate(0, 0, -7*(week+1))
					w.exec(`INSERT INTO ing_window_history (dataset_id, expr_id, span_log2, window_from, window_to, actual, requests, bytes, as_of, run_id)
  SELECT DISTINCT dataset_id, expr_id, ?, ?, ?, 500, 1, 1, ?, 0 FROM ing_window_history WHERE actual < 500`,
						bits.Len64(uint64(24*time.Hour/time.Microsecond)), from.UnixMicro(), from.AddDate(0, 0, 1).UnixMicro(), w.us(0))
				}
				w.exec("UPDATE ing_window_history SET actual = 1 WHERE window_from >= ? AND window_to <= ?", day.From.UnixMicro(), day.To.UnixMicro())
			},
			mend: func(w *world) {
				w.backfillDay()
				w.exec("DELETE FROM ing_window_history WHERE actual = 500")
			},
		},
		{
			code: view.FoundCursor, about: ofHarvest,
			bring: func(w *world) {
				w.exec("UPDATE ing_cursor SET cursor_value = '2031-03-01T00:00:00Z' WHERE operation_code = 'HARVEST'")
			},
			mend: func(w *world) {
				_, err := w.app.Cursors.Repair(w.Context(), w.cursor(), byAnn)
				w.must(err)
			},
		},
		{
			code: view.FoundAhead, about: ofEndpoint,
			fact:  func(f view.Finding) bool { return f.Ahead.AsOf.After(f.Ahead.ReadFrom) },
			bring: func(w *world) { w.harvestAhead(2 * time.Hour) },
			mend:  func(w *world) { w.readAgain() },
		},
	}
}

func troublesOfWork() []trouble {
	return []trouble{
		{
			code: view.FoundNoWorker,
			bring: func(w *world) {
				w.begun = w.plan()
				w.sleep()
			},
			mend: func(w *world) {
				w.asleep = false
				w.work(w.begun)
			},
		},
		{
			code: view.FoundGone, about: view.Subject{Process: "attic"}, after: 3 * lookEach,
			bring: func(w *world) { w.killed = true },
			mend: func(w *world) {
				w.killed, w.process = false, w.process+"'"
				w.beat()
			},
		},
		{
			code: view.FoundPlanIdle, about: ofHarvest, after: 95 * time.Minute,
			bring: func(w *world) { w.leave = func(int64) {} },
			mend:  func(w *world) { w.workLeft() },
		},
		{
			code: view.FoundPlanHeld, about: ofHarvest,
			bring: func(w *world) {
				from := w.yesterday().From
				r := NewRequest(w.now, &from, nil)
				r.MaxRequests = 1
				w.harvestBy(r)
			},
			mend: func(w *world) { w.harvestFrom(nil) },
		},
		{
			code: view.FoundQueue, after: 45 * time.Minute, stays: lookEach, calm: 25 * time.Minute,
			bring: func(w *world) {
				w.noteShortQueues(14 * time.Hour)
				w.queue(20)
			},
			lasts: func(w *world, n int) { w.queue([]int{20, 30, 4}[n%3]) },
			mend:  func(w *world) { w.queue(0) },
		},
		{
			code: view.FoundStartedOver, about: ofHarvest,
			bring: func(w *world) {
				w.begun = w.plan()
				w.addRun(w.begun, "FAILED", `{"restarts":4,"restartedBy":"SHRUNK"}`)
			},
			mend: func(w *world) {
				w.exec("DELETE FROM ing_task_run WHERE plan_id = ?", w.begun)
				w.work(w.begun)
			},
		},
		{
			code: view.FoundCampaignStuck, about: view.Subject{Source: "crossref", Endpoint: "works", Operation: "BACKFILL", Campaign: "stuck"}, beside: true,
			bring: func(w *world) {
				w.campaign("stuck")
				w.exec("UPDATE ing_campaign SET note = 'the source cannot be compiled' WHERE name = 'stuck'")
			},
			mend: func(w *world) { w.endCampaign("stuck") },
		},
		{
			code: view.FoundCampaignIdle, about: view.Subject{Source: "crossref", Endpoint: "works", Operation: "BACKFILL", Campaign: "idle"},
			bring: func(w *world) {
				w.campaign("idle")
				w.sleep()
			},
			mend: func(w *world) {
				w.endCampaign("idle")
				w.asleep = false
				w.beat()
			},
		},
		{
			code: view.FoundQuotaLow, about: view.Subject{Source: "crossref", RateKey: "crossref"}, heals: true,
			bring: func(w *world) { w.announce(50) },
			lasts: func(w *world, n int) { w.announce(int64(50 - n%10)) },
			mend:  func(w *world) { w.exec("DELETE FROM ing_rate_report") },
		},
	}
}

func troublesOfAnswers() []trouble {
	return []trouble{
		{
			code: view.FoundQuarantined, about: ofEndpoint,
			bring: func(w *world) {
				w.fault(upsim.Fault{Kind: upsim.FaultMissingID})
				w.harvestFrom(nil)
				w.fault()
			},
			lasts: func(w *world, n int) { w.reject(20 + 60*(n%2)) }, // it grows quickly and slowly
			mend:  func(w *world) { w.discardRejects() },
		},
		{
			code: view.FoundDisagree, about: ofHarvest, beside: true,
			bring: func(w *world) {
				var apart skew.Spread
				for range 50 {
					apart.Note(time.Hour)
				}
				text, err := json.Marshal(apart)
				w.must(err)
				w.exec("UPDATE ing_answer_check SET apart = ? WHERE operation_code = 'HARVEST'", string(text))
			},
			mend: func(w *world) { w.exec("UPDATE ing_answer_check SET apart = NULL") },
		},
		{
			code: view.FoundUnsorted, about: ofHarvest, beside: true,
			bring: func(w *world) {
				w.exec("UPDATE ing_answer_check SET unsorted_lists = 3 WHERE operation_code = 'HARVEST'")
			},
			mend: func(w *world) { w.exec("UPDATE ing_answer_check SET unsorted_lists = 0") },
		},
		{
			code: view.FoundMember, about: ofHarvest, beside: true,
			bring: func(w *world) {
				w.exec(`UPDATE ing_answer_check SET members = '{"physics":{"refusedAt":"2026-01-02T03:04:05Z","why":"HTTP 401"}}' WHERE operation_code = 'HARVEST'`)
			},
			mend: func(w *world) { w.exec("UPDATE ing_answer_check SET members = NULL") },
		},
		{
			code: view.FoundUnannounced, about: ofHarvest, beside: true,
			bring: func(w *world) {
				w.exec("UPDATE ing_answer_check SET swept_items = 3 WHERE operation_code = 'HARVEST'")
			},
			mend: func(w *world) { w.exec("UPDATE ing_answer_check SET swept_items = 0") },
		},
		{
			code: view.FoundVanished, about: ofHarvest, beside: true,
			bring: func(w *world) {
				w.exec(`INSERT INTO ing_generation (slice_id, cursor_id, as_of, state_code, is_kept, base_id, id_count, items, last_items, last_kept, vanished, gone, held, created_at)
  SELECT 0, MIN(id), 0, 'COMPLETE', 0, 0, 0, 9, 20, 9, 11, 0, 'too many records have vanished', 0 FROM ing_cursor WHERE operation_code = 'HARVEST'`)
			},
			mend: func(w *world) { w.exec("DELETE FROM ing_generation") },
		},
		{
			code: view.FoundShortLists, about: ofHarvest, beside: true,
			bring: func(w *world) {
				w.exec("UPDATE ing_answer_check SET lists = 9, short_lists = 2, announced_items = 100, delivered_items = 90 WHERE operation_code = 'HARVEST'")
			},
			mend: func(w *world) {
				w.exec("UPDATE ing_answer_check SET short_lists = 0, announced_items = 0, delivered_items = 0")
			},
		},
	}
}

func troublesOfEvents() []trouble {
	return []trouble{
		{
			code: view.FoundDeadEvents, about: ofEndpoint, beside: true,
			bring: func(w *world) { w.setEvents("DEAD", 2) },
			mend:  func(w *world) { w.exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED'") },
		},
		{
			code: view.FoundReceiverAway, about: ofEndpoint, beside: true,
			bring: func(w *world) {
				w.relays = true
				w.beat()
				w.setEvents("PENDING", 2)
				w.noteRelay("DEFERRED")
			},
			mend: func(w *world) { w.endRelay() },
		},
		{
			code: view.FoundEventsBehind, about: ofEndpoint, beside: true,
			bring: func(w *world) {
				w.relays = true
				w.beat()
				w.setEvents("PENDING", 2)
			},
			mend: func(w *world) { w.endRelay() },
		},
		{
			code: view.FoundUnrelayed, about: ofEndpoint, beside: true,
			bring: func(w *world) {
				w.setEvents("PENDING", 2)
				w.noteRelay("PUBLISHED")
			},
			mend: func(w *world) { w.endRelay() },
		},
		{
			code: view.FoundUndelivered, beside: true,
			bring: func(w *world) {
				w.exec(`INSERT INTO ing_alert_message (message_id, receiver_name, status_code, message_json, tries, due_at, error_msg, queued_at)
  VALUES (?, 'ann', 'QUEUED', '{}', 3, ?, 'no route to host', ?)`, fmt.Sprint("m", w.us(0)), w.us(time.Hour), w.us(-20*time.Minute))
			},
			lasts: func(w *world, n int) {
				w.exec("UPDATE ing_alert_message SET tries = tries + 1, due_at = ?", w.us(time.Duration(n)*time.Minute))
			},
			mend: func(w *world) { w.exec("UPDATE ing_alert_message SET status_code = 'SENT', sent_at = ?", w.us(0)) },
		},
	}
}

func troublesOfDatabases() []trouble {
	check := func(found int64) func(*world) {
		return func(w *world) { w.must(w.app.store.EndCheck(w.Context(), found)) }
	}
	return []trouble{
		{code: view.FoundDamaged, beside: true, bring: check(3), mend: check(0)},
		{code: view.FoundNeverChecked, beside: true, bring: func(w *world) { w.exec("DELETE FROM ing_upkeep_mark WHERE name = 'check'") }, mend: check(0)},
		{
			code: view.FoundCheckTooOld, beside: true, mend: check(0),
			bring: func(w *world) {
				w.exec("UPDATE ing_upkeep_mark SET updated_at = ? WHERE name = 'check'", w.us(-31*24*time.Hour))
			},
		},
		{
			code: view.FoundUnreachable, beside: true,
			bring: func(w *world) {
				w.line.Store(true)
				w.raiseAlarm()
				w.alarm.hear()
			},
			mend: func(w *world) {
				w.line.Store(false)
				w.alarm.hear()
				w.alarm.end()
			},
		},
	}
}

func troublesOfMachines() []trouble {
	return []trouble{
		{code: view.FoundClockOff, beside: true, bring: func(w *world) { w.apart = 2 * time.Minute }, mend: func(w *world) { w.apart = 0 }},
		{
			code: view.FoundStoreSlow, beside: true,
			bring: func(w *world) { w.slow = 3 * time.Second },
			lasts: func(w *world, n int) { w.slow = time.Duration(3+n%2) * time.Second },
			mend:  func(w *world) { w.slow = 0 },
		},
		{
			code: view.FoundDiskLow, about: view.Subject{Path: "/var/lib/patra"}, beside: true,
			bring: func(w *world) { w.full = true },
			mend:  func(w *world) { w.full = false },
		},
		{
			code: view.FoundRawFull, about: view.Subject{Path: "/var/lib/patra/raw"}, heals: true, beside: true,
			bring: func(w *world) { w.bodies = 95 },
			lasts: func(w *world, n int) { w.bodies = int64(91 + n%9) },
			mend:  func(w *world) { w.bodies = 50 },
		},
	}
}

// troublesOfShares are over when the share was low for a while: they fall below it in between.
func troublesOfShares() []trouble {
	return []trouble{
		{
			code: view.FoundErrors, about: ofHarvest, after: 20 * time.Minute, stays: time.Hour, calm: 40 * time.Minute, beside: true,
			bring: func(w *world) { w.sum(30, 0) },
			lasts: func(w *world, n int) { w.sum([]int{30, 9, 12, 2}[n%4], 0) },
			mend:  func(*world) {},
		},
		{
			code: view.FoundThrottled, about: ofHarvest, after: 15 * time.Minute, stays: time.Hour, calm: 40 * time.Minute, beside: true,
			bring: func(w *world) { w.sum(0, 20) },
			lasts: func(w *world, n int) { w.sum(0, []int{20, 8, 1}[n%3]) },
			mend:  func(*world) {},
		},
	}
}

// us is an instant as tables have it, so much later than now.
func (w *world) us(later time.Duration) int64 { return w.now.Add(later).UnixMicro() }

// yesterday is the newest whole day that was read.
func (w *world) yesterday() window.Window {
	to := w.now.Add(-12 * time.Hour).Truncate(24 * time.Hour)
	return window.Window{From: to.AddDate(0, 0, -1), To: to}
}

// setRole changes what the definition of the source says of its endpoint, behind the back of
// those who check it.
func (w *world) setRole(from, to string) {
	w.exec("UPDATE reg_prov_endpoint_def SET endpoint_usage_code = ? WHERE endpoint_usage_code = ?", to, from)
	w.exec("UPDATE reg_provenance SET version = version + 1")
}

func (w *world) fault(all ...upsim.Fault) {
	w.Helper()
	w.must(w.server.SetFaults(all))
}

// retry harvests, with what failed before.
func (w *world) retry() {
	w.Helper()
	r := NewRequest(w.now, nil, nil)
	r.RetryBefore = w.now.Add(time.Second)
	w.harvestBy(r)
}

// backfillDay reads a day again, also what failed before.
func (w *world) backfillDay() {
	w.Helper()
	day := w.yesterday()
	r := NewRequest(w.now, &day.From, &day.To)
	r.RetryBefore = w.now.Add(time.Second)
	w.work(w.planBy(ingest.Backfill, r))
}

func (w *world) cursor() int64 {
	w.Helper()
	all, err := w.app.store.Cursors(w.Context(), "crossref")
	w.must(err)
	for _, c := range all {
		if c.Operation == string(ingest.Harvest) {
			return c.ID
		}
	}
	w.Fatal("nothing was harvested")
	return 0
}

// readOf returns how many items were read of a window.
func (w *world) readOf(in window.Window) int64 { return int64(w.inside(in)) }

// noteCount notes how many items of yesterday an upstream counts.
func (w *world) noteCount(upstream int64, verdict view.CountVerdict) {
	w.Helper()
	c, err := w.app.Compile(w.Context(), "crossref", "", ingest.Harvest, nil)
	w.must(err)
	hash, err := c.Prototype.Hash()
	w.must(err)
	read := w.readOf(w.yesterday())
	w.must(w.app.Cursors.NoteCounts(w.Context(), []view.CountCheck{{
		Reconciled: view.Reconciled{Source: "crossref", Endpoint: "works", Window: w.yesterday(), Upstream: &upstream, Read: &read, Verdict: verdict}, Question: hash, Enough: upstream, CheckedAt: w.now,
	}}))
}

// addRun notes a run of the first task of a plan.
func (w *world) addRun(plan int64, status, stats string) {
	w.exec(`INSERT INTO ing_task_run (task_id, lease_epoch, attempt_no, plan_id, provenance_code, operation_code, status_code, stats, created_at)
  SELECT MIN(id), 1, 1, plan_id, 'crossref', 'HARVEST', ?, ?, ? FROM ing_task WHERE plan_id = ? GROUP BY plan_id`, status, stats, w.us(0), plan)
}

// workLeft works on the plan that was left alone.
func (w *world) workLeft() {
	w.leave = nil
	w.work(w.begun)
}

// backdatePlans makes it look as if harvests were started twice a day from outside, the last
// time yesterday.
func (w *world) backdatePlans() {
	w.Helper()
	harvests := func() []view.Plan { // the newest first
		return slices.DeleteFunc(w.plans(), func(p view.Plan) bool { return p.Operation != string(ingest.Harvest) })
	}
	for len(harvests()) < 8 {
		w.harvestFrom(nil)
	}
	for n, p := range harvests() {
		w.exec("UPDATE ing_plan SET created_at = ? WHERE id = ?", w.us(time.Duration(-26-12*n)*time.Hour), p.ID)
	}
}

// sleep shuts the process down.
func (w *world) sleep() {
	w.asleep = true
	w.must(w.app.store.Farewell(w.Context(), w.process))
}

// noteShortQueues has it that no task waited lately.
func (w *world) noteShortQueues(lately time.Duration) {
	to := w.now.Truncate(lookEach)
	w.exec("DELETE FROM ing_queue_length WHERE slot_start < ?", to.UnixMicro())
	var rows []string
	for at := to.Add(-lately); at.Before(to); at = at.Add(lookEach) {
		rows = append(rows, fmt.Sprintf("(%d, 0)", at.UnixMicro()))
	}
	w.exec("INSERT INTO ing_queue_length (slot_start, waiting) VALUES " + strings.Join(rows, ", "))
}

// queue makes the queue so long, beside what is planned.
func (w *world) queue(tasks int) {
	w.exec("DELETE FROM ing_task WHERE expr_hash = 'many'")
	if tasks == 0 {
		return
	}
	var rows []string
	for n := range tasks {
		rows = append(rows, fmt.Sprintf("SELECT %d AS n", 1_000_000+n))
	}
	w.exec(`INSERT INTO ing_task (schedule_instance_id, plan_id, slice_id, partition_id, provenance_code, endpoint_name, operation_code, spec_fingerprint, idempotent_key, expr_hash, priority,
  status_code, scheduled_at, created_at, updated_at) SELECT 1, t.plan_id, many.n, t.partition_id, 'crossref', 'works', 'HARVEST', 'x', many.n, 'many', 50, 'QUEUED', 0, 0, 0
  FROM ing_task t, (` + strings.Join(rows, " UNION ALL ") + `) many WHERE t.id = 1`)
}

// campaign begins a backfill of a day.
func (w *world) campaign(name string) {
	w.Helper()
	c, err := w.app.Compile(w.Context(), "crossref", "", ingest.Backfill, nil)
	w.must(err)
	day := w.yesterday()
	_, empty, err := w.app.OpenCampaign(w.Context(), c, CampaignWish{Name: name, From: &day.From, To: &day.To, Now: w.now, By: byAnn})
	w.must(err)
	if empty != "" {
		w.Fatal(empty)
	}
}

// endCampaign gives a backfill up.
func (w *world) endCampaign(name string) {
	w.exec("UPDATE ing_campaign SET state_code = 'CANCELLED', note = NULL WHERE name = ?", name)
}

// reject brings items into quarantine.
func (w *world) reject(items int) {
	var rows []string
	for n := range items {
		rows = append(rows, fmt.Sprintf("SELECT %d AS n", n))
	}
	w.exec(`INSERT INTO ing_quarantine (dataset_id, reject_key, provenance_code, endpoint_name, plan_id, slice_id, task_id, run_id, batch_id, item_index, reason_code, raw_hash, codec, status_code, created_at, updated_at)
  SELECT d.id, many.n + ?, 'crossref', 'works', 1, 1, 1, 1, 1, 0, 'NO_ID', 'x', 'none', 'OPEN', ?, 0 FROM ing_dataset d, (`+strings.Join(rows, " UNION ALL ")+`) many`, w.us(0), w.us(0))
}

// sum notes what ended in the last five minutes, as runs do.
func (w *world) sum(errors, throttled int) {
	w.exec("DELETE FROM ing_work_sum WHERE slot_seconds = 300 AND slot_start = ?", w.now.Truncate(lookEach).UnixMicro())
	w.exec(`INSERT INTO ing_work_sum (slot_seconds, slot_start, provenance_code, endpoint_name, operation_code, runs_succeeded, runs_failed, runs_partial, runs_cancelled,
  batches, batches_failed, items_seen, items_inserted, items_updated, items_unchanged, items_gone, items_stale, items_duplicate, items_outside, items_quarantined, items_late,
  requests, retries, throttled, answers, took_ms, slowest_ms, wait_ms, bytes_in, errors_l1, errors_l2, errors_l3, errors_l4)
  VALUES (300, ?, 'crossref', 'works', 'HARVEST', 1,0,0,0, 100,0,0,0,0,0,0,0,0,0,0,0, 100,0,?,0,0,0,0,0,?,0,0,0)`, w.now.Truncate(lookEach).UnixMicro(), throttled, errors)
}

// announce has the upstream say how many of a thousand requests are left until the hour ends.
func (w *world) announce(left int64) {
	limit := int64(1000)
	text, err := json.Marshal(gate.Snapshot{Key: "crossref", Announced: gate.Announced{Remaining: &left, Limit: &limit, Reset: w.now.Add(time.Hour)}})
	w.must(err)
	w.exec("DELETE FROM ing_rate_report")
	w.exec("INSERT INTO ing_rate_report (executor_id, rate_key, snapshot, reported_at) VALUES (?, 'crossref', ?, ?)", w.process, string(text), w.us(0))
}

// setEvents leaves some events in a state for two hours, and none else.
func (w *world) setEvents(status string, events int) {
	w.exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED'")
	w.exec("UPDATE ing_outbox_message SET status_code = ?, created_at = ?, next_retry_at = NULL WHERE id <= ?", status, w.us(-2*time.Hour), events)
}

// noteRelay notes a try to deliver events.
func (w *world) noteRelay(outcome string) {
	w.exec(`INSERT INTO ing_outbox_relay_log (dataset_id, lease_epoch, attempt_no, lease_owner, destination, status_code, first_message_id, last_message_id, events, delivered, error_msg, started_at, completed_at)
  VALUES (1, 1, 1, 'post', 'lake', ?, 1, 2, 2, 0, 'no route to host', ?, ?)`, outcome, w.us(0), w.us(0))
}

// endRelay delivers what waits, and relays no more.
func (w *world) endRelay() {
	w.exec("DELETE FROM ing_outbox_relay_log")
	w.exec("UPDATE ing_outbox_message SET status_code = 'PUBLISHED'")
	if w.relays {
		w.relays = false
		w.must(w.app.store.Farewell(w.Context(), "post"))
	}
}
