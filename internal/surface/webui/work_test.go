package webui

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// hostile is an installation whose every text is an attack, or whose store is broken.
type hostile struct {
	text string
	err  error
}

func (h hostile) plan() view.Plan {
	return view.Plan{ID: 1, Source: "src", Endpoint: h.text, Operation: h.text, Status: h.text, SpecFingerprint: h.text, CreatedAt: noon}
}

func (h hostile) ListRows(context.Context, view.PlanFilter) ([]view.PlanRow, error) {
	return []view.PlanRow{{Plan: h.plan(), Slices: map[string]int{h.text: 1, "FAILED": 1}}}, h.err
}

func (h hostile) Plan(context.Context, int64) (view.PlanReport, error) {
	d := view.PlanDetail{Plan: h.plan(), Strategy: h.text, Slices: map[string]int{"FAILED": 1}, Trigger: view.Trigger{Type: h.text, Scheduler: h.text}}
	return view.PlanReport{PlanDetail: d, Text: h.text, Noted: &view.PlanRemarks{Reason: h.text}, Conditions: []view.Condition{{Detail: h.text}}}, nil
}

func (h hostile) PlanLineage(context.Context, int64, int, int) ([]view.SliceTree, error) {
	run := view.RunTree{ID: 4, Attempt: 1, Status: h.text, ErrorCode: h.text, StartedAt: noon, FinishedAt: noon, Batches: []view.BatchLeaf{{ID: 5, No: 1, Status: h.text, Error: h.text}}}
	return []view.SliceTree{{ID: 2, No: 1, Status: h.text, Partition: h.text, Task: &view.TaskTree{ID: 3, Status: h.text, ErrorCode: h.text, Runs: []view.RunTree{run}}}}, h.err
}

func (h hostile) ListSlices(context.Context, view.Filter) ([]view.Slice, error) {
	return []view.Slice{{ID: 2, No: 1}}, h.err
}

func (h hostile) CancelPlan(context.Context, int64, ingest.Act) (view.PlanCancel, error) {
	return view.PlanCancel{Status: "READY"}, h.err
}

// hostileTasks are its tasks.
type hostileTasks struct{ hostile }

func (h hostileTasks) Task(context.Context, int64) (view.TaskDetail, error) {
	return view.TaskDetail{Task: view.Task{ID: 3, Source: "src", Status: h.text}, Next: h.text + "`" + h.text + "`"}, h.err
}

func (h hostileTasks) Run(context.Context, int64, int64, int) (view.RunDetail, error) {
	return view.RunDetail{Run: view.Run{ID: 4, Source: "src"}}, h.err
}

func (h hostileTasks) Batch(context.Context, int64) (view.BatchDetail, error) {
	request, _ := json.Marshal(map[string]any{"method": h.text, "url": h.text, "headers": map[string]string{h.text: h.text}, "body": h.text})
	response, _ := json.Marshal(map[string]any{"status": 200, "headers": map[string]string{h.text: h.text}, "sample": h.text, "sha256": h.text})
	return view.BatchDetail{Batch: view.Batch{ID: 5, Source: "src", Status: h.text, Error: h.text, BeforeToken: h.text, AfterToken: h.text, Request: request, Response: response}}, h.err
}
func (h hostileTasks) FindBatch(context.Context, int64, int) (int64, error) { return 5, h.err }
func (h hostileTasks) Cancel(context.Context, ingest.TaskPick, ingest.Act) (view.TasksDone, error) {
	return view.TasksDone{}, h.err
}

func (h hostileTasks) Retry(context.Context, ingest.TaskPick, ingest.Act) (view.TasksDone, error) {
	return view.TasksDone{}, h.err
}

func (h hostileTasks) Replay(context.Context, int64, bool, bool, ingest.Act) (*blackbox.Report, error) {
	r := &blackbox.Report{Differences: []blackbox.Difference{{What: h.text, Was: h.text, Is: h.text, Why: h.text}}, Records: []blackbox.RecordChange{{ID: h.text}}, Notes: []string{h.text}}
	return r, h.err
}

func (h hostileTasks) ReplayAll(context.Context, view.Filter, bool, ingest.Act) (out blackbox.Replayed, err error) {
	out.Add(blackbox.ReplayedBatch{BatchID: 5, Why: h.text})
	out.Add(blackbox.ReplayedBatch{BatchID: 6, Report: &blackbox.Report{Differences: []blackbox.Difference{{What: h.text}}}})
	return out, h.err
}

func (h hostileTasks) TopErrors(context.Context, view.ErrorQuery) ([]view.ErrorSum, error) {
	return []view.ErrorSum{{Level: "L2", Code: h.text, Source: "src", Endpoint: h.text, Times: 1, RunID: 4, BatchNo: 1}}, h.err
}

// hostileQuarantine are its rejected items and events.
type hostileQuarantine struct{ hostile }

func (h hostileQuarantine) ListGroups(context.Context, string, bool) ([]view.RejectGroup, error) {
	return []view.RejectGroup{{Source: "src", Endpoint: "e", Reason: "R", Path: "$.x", Status: "OPEN", Count: 2, Detail: h.text, Example: h.text}}, h.err
}

func (h hostileQuarantine) List(context.Context, view.RejectFilter) ([]view.Reject, error) {
	return []view.Reject{{ProviderID: h.text, Detail: h.text}}, h.err
}

func (h hostileQuarantine) QueueRejects(context.Context, ingest.RejectPick, ingest.Act) (view.Requeued, error) {
	return view.Requeued{}, h.err
}

func (h hostileQuarantine) Discard(context.Context, ingest.RejectPick, ingest.Act) (ingest.RejectsDone, error) {
	return ingest.RejectsDone{}, h.err
}

type hostileEvents struct{ hostile }

func (h hostileEvents) List(context.Context, view.Filter, ...event.Status) ([]view.Outgoing, error) {
	return []view.Outgoing{{Source: "src", Op: h.text, ErrorCode: h.text, Error: h.text}}, h.err
}

func (h hostileEvents) ListBacklogs(context.Context, string) ([]view.Backlog, error) {
	return []view.Backlog{{Source: "src", Endpoint: h.text, Dead: 1, Away: []view.Away{{Destination: h.text, Error: h.text}}}}, h.err
}

func (h hostileEvents) Retry(context.Context, event.Pick, ingest.Act) (event.Done, error) {
	return event.Done{}, h.err
}

func (h hostileEvents) Discard(context.Context, event.Pick, ingest.Act) (event.Done, error) {
	return event.Done{}, h.err
}

// hostileExports are its exports.
type hostileExports struct{ hostile }

func (h hostileExports) job() export.Job {
	return export.Job{ID: 1, Kind: export.JobKind(h.text), Status: export.JobStatus(h.text), Source: "src", Endpoint: h.text, Question: export.Question{Format: export.Format(h.text)},
		Actor: h.text, Reason: h.text, File: h.text, Error: h.text, CreatedAt: noon}
}

func (h hostileExports) Ask(context.Context, export.Wish, ingest.Act) (export.Asked, error) {
	return export.Asked{Job: h.job()}, h.err
}

func (h hostileExports) List(context.Context, view.Filter, string) ([]export.Job, error) {
	return []export.Job{h.job()}, h.err
}
func (h hostileExports) Show(context.Context, int64) (export.Job, error) { return h.job(), h.err }
func (h hostileExports) Cancel(context.Context, int64, ingest.Act) (export.JobEnded, error) {
	return export.JobEnded{Job: h.job(), Changed: true}, h.err
}

// hostileRest are its watermarks, records, alerts and log.
type hostileRest struct{ hostile }

func (h hostileRest) Show(context.Context, int64) (view.Cursor, error) {
	return view.Cursor{ID: 1, Source: "src", Endpoint: h.text, Key: h.text, NamespaceKey: h.text, Value: h.text, ObservedMax: h.text}, nil
}

func (h hostileRest) List(ctx context.Context, _ string) ([]view.Cursor, error) {
	c, _ := h.Show(ctx, 1)
	return []view.Cursor{c}, h.err
}

func (h hostileRest) ListNewestEvents(context.Context, view.Cursor, time.Time, time.Time, int64, int) ([]view.CursorEvent, error) {
	return []view.CursorEvent{{Kind: "MANUAL", Prev: h.text, New: h.text, Actor: h.text, Reason: h.text, At: noon}}, h.err
}

func (h hostileRest) Verify(context.Context, int64) (view.Verdict, error) {
	return view.Verdict{Problems: []string{h.text}}, h.err
}

func (h hostileRest) ListReadings(_ context.Context, id, _ int64, _ int) ([]view.WholeReading, error) {
	return []view.WholeReading{{ID: 9, CursorID: id, AsOf: noon, State: generation.Shrunk, Why: h.text, Held: h.text, Last: 5, LastKept: 2}}, h.err
}

func (h hostileRest) Accept(context.Context, int64, ingest.Act) (view.ReadingAccepted, error) {
	return view.ReadingAccepted{ID: 9, Changed: true, Waived: view.Waived{Before: h.text, After: h.text}}, h.err
}

func (h hostileRest) Set(context.Context, int64, time.Time, ingest.Act) (view.CursorSet, error) {
	return view.CursorSet{}, h.err
}

func (h hostileRest) ListActs(context.Context, view.Filter) ([]audit.Entry, error) {
	return []audit.Entry{{ID: 1, Actor: h.text, Action: h.text, Object: h.text, Reason: h.text}}, h.err
}

type hostileAlerts struct{ hostile }

func (h hostileAlerts) List(context.Context, view.Filter) ([]alert.Kept, error) {
	return []alert.Kept{{ID: 1, Rule: h.text, Alert: alert.Alert{Code: "GAP", About: h.text, Text: h.text, Next: h.text}}}, h.err
}

func (h hostileAlerts) ListSilences(context.Context, view.Filter) ([]alert.Silence, error) {
	return []alert.Silence{{Source: h.text, Reason: h.text, Actor: h.text, Until: noon.Add(time.Hour)}}, h.err
}

func (h hostileAlerts) Silence(context.Context, alert.Silence, ingest.Act) (alert.Silence, error) {
	return alert.Silence{}, h.err
}

type hostileRecords struct{ hostile }

func (h hostileRecords) Dataset(context.Context, string) (view.Dataset, error) {
	return view.Dataset{Source: "src", Endpoint: h.text}, nil
}

func (h hostileRecords) List(context.Context, view.Dataset, string, int) ([]view.Record, error) {
	return []view.Record{{ID: h.text, State: h.text}}, h.err
}

func (h hostileRecords) ListChanges(context.Context, view.Dataset, view.Changes) ([]view.Change, int64, error) {
	return []view.Change{{ID: h.text, State: h.text, Version: 1, BatchID: 2, StoredAt: noon}, {ID: h.text}}, 7, h.err
}

func (h hostileRecords) History(context.Context, view.Dataset, string, view.Looking) (view.History, error) {
	fields, _ := json.Marshal(map[string]string{h.text: h.text})
	was, _ := json.Marshal(h.text)
	versions := []view.Version{{Version: 2, State: h.text, Changed: []view.FieldChange{{Name: h.text, Was: was}}}, {Version: 1}}
	return view.History{Source: "src", Endpoint: h.text, Record: view.Record{ID: h.text, State: h.text, MergedInto: h.text, Fields: fields}, Versions: versions}, h.err
}

type hostileSizes struct{ hostile }

func (h hostileSizes) Sizes(context.Context) (view.Sizes, error) {
	return view.Sizes{SizeNoted: view.SizeNoted{At: noon, Bytes: 5 << 20}, Records: []view.RecordSize{{Source: h.text, Endpoint: h.text, PerRecord: 7}}}, h.err
}

func (h hostile) work() Work {
	tasks, rest := hostileTasks{h}, hostileRest{h}
	return Work{Plans: h, Tasks: tasks, Replay: tasks, Failures: tasks, Quarantine: hostileQuarantine{h}, Events: hostileEvents{h}, Cursors: rest, Acts: rest, Alerts: hostileAlerts{h}, Records: hostileRecords{h}, Exports: hostileExports{h}}
}

func workSite(h hostile, by access.Caller) http.Handler {
	return New(Settings{CallerOf: func(context.Context) access.Caller { return by }, Clock: quiet{}, Work: h.work(), Readers: Readers{Status: quiet{}, Sizes: hostileSizes{h}}})
}

// workPages are all pages on work that only show.
var workPages = []string{"/plans", "/plans/1", "/plans/1?slice=2&run=4&batch=5", "/batches/5", "/errors", "/quarantine/src?endpoint=e&code=R&path=$.x", "/cursors", "/cursors/1?check=1", "/records?source=src", "/records?source=src&since=-7d", "/records?source=src&id=x", "/exports", "/alerts", "/audit", "/about"}

// Text of others is only ever text on the pages on work too (R8).
func TestR8WorkShowsTextOfOthersAsText(t *testing.T) {
	evil := "<script>alert(1)</script>\u202egnp.exe\u200b" + `" onload="x`
	h := workSite(hostile{text: evil}, access.Caller{Name: evil, Role: access.Admin})
	post := fetch(h, "POST", "/batches/5/replay", map[string][]string{}).Body.String()
	bodies := map[string]string{"replay": post}
	for _, path := range workPages {
		bodies[path] = fetch(h, "GET", path, nil).Body.String()
	}
	for path, body := range bodies {
		for _, bad := range []string{"<script>alert", "\u202e", "\u200b", `" onload=`} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
		if !strings.Contains(body, "gnp.exe") {
			t.Errorf("%s shows nothing of it:\n%s", path, body)
		}
	}
}

// What is broken inside is logged, not shown (R12).
func TestR12WorkTellsNothingOfInnerErrors(t *testing.T) {
	h := workSite(hostile{text: "x", err: errors.New("SELECT secret FROM /var/lib/x")}, access.Caller{Name: "n", Role: access.Admin})
	for _, path := range append(workPages, "/plans/1/retry", "/tasks/3/cancel", "/batches/5/replay", "/cursors/1/set?to=2025-01-01", "/cursors/1/accept") {
		w := fetch(h, "GET", path, nil)
		if body := w.Body.String(); strings.Contains(body, "SELECT") || strings.Contains(body, "/var/lib") || !strings.Contains(body, "request <code>") {
			t.Errorf("%s: %d\n%s", path, w.Code, body)
		}
	}
}

// A page whose reader is missing does not exist, and asks for its role all the same.
func TestPagesWithoutTheirReaderDoNotExist(t *testing.T) {
	h := siteOf(quiet{}, access.Caller{Name: "n", Role: access.Admin})
	for _, path := range workPages {
		if w := fetch(h, "GET", path, nil); path != "/about" && w.Code != http.StatusNotFound {
			t.Errorf("%s answers %d", path, w.Code)
		}
	}
}

// Whoever asks for a source that is hidden from them hears that it does not exist, and the
// audit log hears who asked (R13).
func TestR13HiddenSourcesAreNotedAsRefused(t *testing.T) {
	var noted []string
	by := access.Caller{Name: "n", Role: access.Admin, Sources: []string{"other"}}
	h := New(Settings{CallerOf: func(context.Context) access.Caller { return by }, Clock: quiet{}, Work: hostile{text: "x"}.work(), Readers: Readers{Status: quiet{}, Coverage: quiet{}},
		NoteRefusal: func(_ context.Context, why string) { noted = append(noted, why) }})
	for path, what := range map[string]string{"/plans/1": "plan", "/batches/5": "batch", "/tasks/3/retry": "task", "/cursors/1": "cursor", "/exports/1/cancel": "export", "/coverage/src": "source", "/records?source=src": "source", "/quarantine/src": "source"} {
		noted = nil
		if w := fetch(h, "GET", path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s answers %d", path, w.Code)
		}
		if len(noted) != 1 || noted[0] != "asked for a "+what+" that it does not see" {
			t.Errorf("%s: noted %q", path, noted)
		}
	}
	noted = nil
	if fetch(h, "GET", "/plans/x", nil); len(noted) != 0 {
		t.Errorf("what does not exist is no refusal: %q", noted)
	}
}
