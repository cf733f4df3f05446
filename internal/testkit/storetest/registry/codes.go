package registry

import (
	"slices"
	"strings"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// everyOutcome leaves rows in all tables that hold codes.
func (w *world) everyOutcome() {
	w.Helper()
	outcomes := []ingest.Outcome{fixture.Succeeded, fixture.Failed, fixture.Partial, fixture.Cancelled, fixture.Again, fixture.Later}
	for i, o := range outcomes {
		h := fixture.Harvest{Source: "s" + o.Code + string(o.Task), Trigger: w.Unique("trigger"), First: i + 1, Days: 1}
		w.Plan(h)
		a := w.Begin(h)
		a.Commit(fixture.Item("a", "x", fixture.Noon), fixture.Item("b", "x", fixture.Noon))
		a.Commit(fixture.Item("a", "y", fixture.Noon.Add(fixture.Day)), fixture.Gone("b", fixture.Noon.Add(fixture.Day)))
		a.Store(a.WithRejects(record.Reject{Reason: record.BadItem, Path: "$.x", Raw: []byte("{}")}))
		if o.Task == ingest.TaskPartial {
			w.Must(w.Store.RequestReslice(w.Ctx, a.TooMuch(a.Work.Window)))
		}
		end := a.Ending(o)
		if o.Run == ingest.RunFailed {
			end.Failed = &ingest.FailedBatch{No: 4, Pass: 1, PageNo: 4, Error: "no answer", Request: []byte("{}")}
		}
		w.Must(w.Store.FinishRun(w.Ctx, end))
	}
	h := fixture.Harvest{Source: "reaped", Trigger: w.Unique("trigger")}
	w.Plan(h)
	w.Begin(h)
	w.Clock.Advance(2 * fixture.Lease)
	if _, err := w.Store.Reap(w.Ctx, 10); err != nil {
		w.Fatal(err)
	}
	_, _, err := w.Store.PauseSource(w.Ctx, ingest.Scope{Source: "reaped"}, ingest.Act{Actor: "tester", Reason: "because"})
	w.Must(err)
	for _, code := range catalog.List() {
		text, err := catalog.Read(code)
		w.Must(err)
		src, _, err := registry.Decode(catalog.File(code), text)
		w.Must(err)
		w.Apply(src)
	}
}

// codeColumns ties columns to lists, by column or by table and column. Every
// column called …_code is here; one with the list "" holds no code of ours.
func codeColumns() map[string]string {
	return map[string]string{
		"provenance_code": "", "type_code": "", "item_code": "", "external_code": "", "fn_code": "",
		"scheduler_code":       "", // the caller's; the suite plans as a scheduler of its own
		"trigger_type_code":    "ing_trigger_type",
		"operation_code":       "ing_operation",
		"slice_strategy_code":  "ing_slice_strategy",
		"namespace_scope_code": "ing_namespace_scope",
		"cursor_type_code":     "ing_cursor_type",
		"direction_code":       "ing_cursor_direction",
		"order_code":           "ing_campaign_order",
		"condition_code":       "ing_health_condition",
		"action_code":          "ing_health_action",
		"error_code":           "ing_fault_code",
		"level_code":           "ing_fault_level",
		"last_error_code":      "ing_fault_code",
		"wait_code":            "ing_gate_reason",
		"cooling_code":         "ing_gate_reason",

		"ing_alert.status_code":            "ing_alert_state",
		"ing_alert_message.status_code":    "ing_alert_delivery",
		"ing_export.kind_code":             "ing_export_kind",
		"ing_export.status_code":           "ing_export_status",
		"verdict_code":                     "ing_count_verdict",
		"told_severity_code":               "ing_finding_severity",
		"finding_code":                     "", // docs/findings.md lists them
		"ing_outbox_message.op_type":       "ing_outbox_op",
		"ing_outbox_message.error_code":    "ing_outbox_fault",
		"ing_outbox_relay_log.status_code": "ing_relay_status",
		"ing_outbox_relay_log.error_code":  "ing_outbox_fault",
		"ing_fingerprint.kind_code":        "ing_fingerprint_kind",
		"ing_cursor_event.kind_code":       "ing_cursor_event_kind",
		"ing_archive.kind_code":            "ing_archive_kind",
		"ing_archive.status_code":          "ing_archive_status",
		"ing_plan.status_code":             "ing_plan_status",
		"ing_plan_slice.status_code":       "ing_slice_status",
		"ing_task.status_code":             "ing_task_status",
		"ing_task_run.status_code":         "ing_task_run_status",
		"ing_task_run_batch.status_code":   "ing_batch_status",
		"ing_record.state_code":            "ing_record_state",
		"ing_outbox_message.status_code":   "ing_outbox_status",
		"ing_quarantine.reason_code":       "ing_reject_reason",
		"ing_quarantine.status_code":       "ing_quarantine_status",
		"ing_signal.kind_code":             "ing_signal_kind",
		"ing_signal.status_code":           "ing_signal_status",
		"ing_reslice_request.reason_code":  "ing_fault_code",
		"ing_reslice_request.status_code":  "ing_reslice_status",
		"ing_source_state.state_code":      "ing_source_state",
		"ing_campaign.state_code":          "ing_campaign_state",
		"ing_generation.state_code":        "ing_generation_state",
		"ing_source_state.operation_code":  "", // or empty, for all
		"ing_source_change.operation_code": "", // or empty, for all
		"ing_source_change.cause_code":     "ing_source_change",
		"ing_window_history.estimate_code": "", // as the slice says

		"lifecycle_status_code":         "lifecycle_status",
		"endpoint_usage_code":           "endpoint_usage",
		"http_method_code":              "http_method",
		"param_merge_strategy_code":     "param_merge_strategy",
		"window_mode_code":              "window_mode",
		"window_size_unit_code":         "time_unit",
		"lookback_unit_code":            "time_unit",
		"pagination_mode_code":          "pagination_mode",
		"bucket_granularity_scope_code": "bucket_granularity_scope",
		"auth_type":                     "credential_type",
		"calendar_align_to":             "calendar_align",
		"inbound_location_code":         "inbound_location",
		"param_location_code":           "inbound_location",
		"body_format_code":              "body_format",
		"null_policy_code":              "null_policy",
		"bounds_code":                   "reg_rule_bounds",
		"bound_precision_code":          "date_precision",
		"id_case_code":                  "id_case",
		"data_type_code":                "reg_data_type",
		"cardinality_code":              "reg_cardinality",
		"range_kind_code":               "reg_range_kind",
		"op_code":                       "reg_expr_op",
		"match_type_code":               "reg_match_type",
		"value_type_code":               "reg_value_type",
		"emit_type_code":                "reg_emit_type",
		"transform_code":                "reg_transform",
	}
}

// codesAreListed holds what was stored against the dictionary. A new column for
// codes must be given a list.
func (w *world) codesAreListed() {
	w.Helper()
	lists := map[string]dictionary.Type{}
	for _, t := range w.stored() {
		lists[t.Code] = t
	}
	values := 0
	for _, line := range fixture.Catalogue(w.T, w.DB.SQL, w.Store.Dialect()) {
		name, _, _ := strings.Cut(line, " ")
		table, col, isColumn := strings.Cut(name, ".")
		list, known := codeColumns()[name]
		if !known {
			list, known = codeColumns()[col]
		}
		if !isColumn || !known && !strings.HasSuffix(col, "_code") {
			continue
		}
		if _, exists := lists[list]; !known || list != "" && !exists {
			w.Errorf("%s has no list: add it to codeColumns", name)
			continue
		}
		for _, code := range fixture.Column(w.T, w.DB.SQL, "SELECT DISTINCT "+col+" FROM "+table+" WHERE "+col+" IS NOT NULL") {
			if list == "" {
				continue
			}
			values++
			if !slices.ContainsFunc(lists[list].Items, func(i dictionary.Item) bool { return i.Code == code }) {
				w.Errorf("%s holds %s, which is not in the list %s", name, code, list)
			}
		}
	}
	if values < 40 {
		w.Errorf("only %d codes were found in the tables", values)
	}
}
