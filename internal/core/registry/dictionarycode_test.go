package registry

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
)

// codeLists ties the code types of the program to the lists that hold them.
func codeLists() map[string]string {
	return map[string]string{
		"alert.DeliveryStatus":  "ing_alert_delivery",
		"view.CountVerdict":     "ing_count_verdict",
		"alert.Kind":            "ing_alert_kind",
		"alert.State":           "ing_alert_state",
		"audit.Problem":         "ing_audit_problem",
		"coverage.Kind":         "ing_cursor_event_kind",
		"document.Format":       "body_format",
		"event.Fault":           "ing_outbox_fault",
		"event.Op":              "ing_outbox_op",
		"event.Outcome":         "ing_relay_status",
		"event.Status":          "ing_outbox_status",
		"export.JobKind":        "ing_export_kind",
		"export.JobStatus":      "ing_export_status",
		"fault.BreakerState":    "ing_breaker_state",
		"fault.Code":            "ing_fault_code",
		"fault.Level":           "ing_fault_level",
		"fault.WaitForm":        "retry_wait_form",
		"gate.Decision":         "ing_gate_decision",
		"gate.Outcome":          "ing_gate_outcome",
		"gate.Reason":           "ing_gate_reason",
		"health.Action":         "ing_health_action",
		"health.Condition":      "ing_health_condition",
		"ingest.BatchStatus":    "ing_batch_status",
		"ingest.Change":         "ing_source_change",
		"ingest.CursorType":     "ing_cursor_type",
		"ingest.CampaignOrder":  "ing_campaign_order",
		"ingest.CampaignState":  "ing_campaign_state",
		"refresh.Kind":          "ing_signal_kind",
		"refresh.Policy":        "ing_update_policy",
		"refresh.SignalStatus":  "ing_signal_status",
		"twophase.Vanished":     "missing_record",
		"files.Packing":         "file_packing",
		"files.Take":            "file_take",
		"generation.State":      "ing_generation_state",
		"ingest.NamespaceScope": "ing_namespace_scope",
		"ingest.Operation":      "ing_operation",
		"ingest.PlanStatus":     "ing_plan_status",
		"ingest.RejectStatus":   "ing_quarantine_status",
		"ingest.ResliceStatus":  "ing_reslice_status",
		"ingest.RunStatus":      "ing_task_run_status",
		"ingest.SliceStatus":    "ing_slice_status",
		"ingest.SourceState":    "ing_source_state",
		"twophase.Policy":       "missing_detail",
		"ingest.TaskStatus":     "ing_task_status",
		"ingest.TriggerType":    "ing_trigger_type",
		"paging.Type":           "pagination_mode",
		"query.Bound":           "bound",
		"query.Boundary":        "expr_boundary",
		"query.Bounds":          "reg_rule_bounds",
		"query.Cardinality":     "reg_cardinality",
		"integrity.Kind":        "ing_damage_kind",
		"query.Case":            "expr_case",
		"query.DataType":        "reg_data_type",
		"query.Emit":            "reg_emit_type",
		"query.Ends":            "filter_bounds",
		"query.Kind":            "expr_node",
		"query.Match":           "reg_match_type",
		"query.Op":              "reg_expr_op",
		"query.Precision":       "date_precision",
		"query.RangeType":       "reg_range_kind",
		"query.ValueType":       "reg_value_type",
		"record.Action":         "ing_record_action",
		"record.Reason":         "ing_reject_reason",
		"record.State":          "ing_record_state",
		"retention.Kind":        "ing_archive_kind",
		"retention.Status":      "ing_archive_status",
		"slicing.RangeKind":     "ing_id_range_kind",
		"slicing.Source":        "ing_estimate_source",
		"slicing.Strategy":      "ing_slice_strategy",
		"tmpl.NullPolicy":       "null_policy",
		"view.Severity":         "ing_finding_severity",
		"window.Mode":           "window_mode",
		"window.Order":          "list_order",
		"window.Unit":           "calendar_align",
		"zone.Zone":             "", // UTC names a zone, it is no code of ours

		// Answers to questions of people are computed, never stored: nobody looks them up in a table.
		"export.Kind": "", "integrity.Remedy": "", "integrity.State": "", "view.CellState": "", "view.FileState": "", "view.FindingCode": "", "view.GapReason": "", "view.GapState": "",
		"view.StandstillReason": "", "view.VerdictCode": "",
	}
}

// A code that is in no list is one nobody can look up. The constants are read
// from the source, so that a new one cannot be forgotten.
func TestEveryConstantIsInItsList(t *testing.T) {
	lists := map[string]dictionary.Type{}
	for _, list := range dictionary.All() {
		lists[list.Code] = list
	}
	seen := map[string]bool{}
	for _, c := range codeConstants(t) {
		seen[c.typ] = true
		name, known := codeLists()[c.typ]
		list, exists := lists[name]
		if known && name == "" {
			continue
		}
		if !exists {
			t.Errorf("%s: codes of type %s are in no list: add it to the dictionary and to codeLists", c.at, c.typ)
			continue
		}
		if !slices.ContainsFunc(list.Items, func(i dictionary.Item) bool { return i.Code == c.value }) {
			t.Errorf("%s: %s %s is not in the list %s", c.at, c.typ, c.value, list.Code)
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d code types were found: the source was not really read", len(seen))
	}
}

// Transforms are known by name only.
func TestEveryTransformIsInItsList(t *testing.T) {
	list, ok := dictionary.ListOf(query.Transforms())
	if !ok || list.Code != "reg_transform" {
		t.Errorf("%v: not all are in reg_transform", query.Transforms())
	}
}

// Ways by which plans are asked for are texts, as those of outside schedulers are.
func TestEverySchedulerIsInItsList(t *testing.T) {
	ours := []string{ingest.SchedulerInternal, ingest.SchedulerCLI, ingest.SchedulerAPI}
	list, ok := dictionary.ListOf(ours)
	if !ok || list.Code != "ing_scheduler" {
		t.Errorf("%v: not all are in ing_scheduler", ours)
	}
}

type codeConstant struct {
	typ, value string
	at         token.Position
}

var codeValue = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// codeConstants finds constants of a named type whose value looks like a code.
func codeConstants(t *testing.T) (out []codeConstant) {
	t.Helper()
	positions := token.NewFileSet()
	for _, name := range listFiles(t, "../*/*.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(positions, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		room := filepath.Base(filepath.Dir(name))
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			typ, named := spec.Type.(*ast.Ident)
			for _, value := range spec.Values {
				literal, ok := value.(*ast.BasicLit)
				if !named || typ.Name == "string" || !ok || literal.Kind != token.STRING {
					continue
				}
				if text, err := strconv.Unquote(literal.Value); err == nil && codeValue.MatchString(text) {
					out = append(out, codeConstant{room + "." + typ.Name, text, positions.Position(literal.Pos())})
				}
			}
			return true
		})
	}
	return out
}
