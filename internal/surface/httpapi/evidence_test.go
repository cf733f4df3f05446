package httpapi_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
)

// newestBatch is the newest batch of the demo whose answer is kept.
func (s *served) newestBatch() (id, run, task json.Number) {
	s.Helper()
	var page struct {
		Items []struct {
			ID, RunID, TaskID json.Number
			Status            string
		}
	}
	s.read("/v1/batches?source=crossref&limit=200", &page)
	for _, b := range page.Items {
		if b.Status == "SUCCEEDED" {
			return b.ID, b.RunID, b.TaskID
		}
	}
	s.Fatal("no batch succeeded")
	return "", "", ""
}

// TestR13ReadsOfBodiesAreAudited reads a raw body: it comes as a file that no browser runs, and
// who read it stands in the audit log. Nobody else gets it.
func TestR13ReadsOfBodiesAreAudited(t *testing.T) {
	s := serve(t)
	id, _, _ := s.newestBatch()
	path := "/v1/batches/" + id.String() + "/body"
	var detail struct{ Response struct{ SHA256 string } }
	s.read("/v1/batches/"+id.String(), &detail)
	status, header, body := s.call(http.MethodGet, path)
	if status != http.StatusOK || header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment") || !strings.HasPrefix(header.Get("Content-Security-Policy"), "sandbox") {
		t.Fatalf("%d %v %.200s", status, header, body)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(body)); got != detail.Response.SHA256 {
		t.Errorf("the body has SHA-256 %s, the batch says %s", got, detail.Response.SHA256)
	}
	var log struct {
		Items []struct{ Actor, Action, Object, Reason string }
	}
	s.read("/v1/audit?limit=1", &log)
	if e := log.Items[0]; e.Actor != "api:test#7" || e.Action != "body.read" || e.Object != "batch/"+id.String() {
		t.Errorf("the newest row of the audit log: %+v", e)
	}
	s.caller = access.Caller{Name: "v", TokenID: 8, Role: access.Viewer}
	if status, _, _ := s.call(http.MethodGet, path); status != http.StatusForbidden {
		t.Errorf("a viewer: %d", status)
	}
	s.caller = access.Caller{Name: "x", TokenID: 9, Role: access.Reader, Sources: []string{"pubmed"}}
	if status, _, body := s.call(http.MethodGet, path); status != http.StatusNotFound || strings.Contains(string(body), "crossref") {
		t.Errorf("another's: %d %s", status, body)
	}
}

// TestReplaysByBatchRunAndTask does what was read again (§5.9): nothing differs, and nothing is
// written.
func TestReplaysByBatchRunAndTask(t *testing.T) {
	s := serve(t)
	id, run, task := s.newestBatch()
	status, _, body := s.send(http.MethodPost, "/v1/batches/"+id.String()+"/replay", "{}")
	var report struct{ Identical bool }
	if err := json.Unmarshal(body, &report); err != nil || status != http.StatusOK || !report.Identical {
		t.Errorf("a batch: %d %.300s", status, body)
	}
	for _, path := range []string{"/v1/runs/" + run.String() + "/replay", "/v1/tasks/" + task.String() + "/replay"} {
		seen, cursor := 0, ""
		for {
			status, _, body := s.send(http.MethodPost, path+"?limit=1&cursor="+cursor, "{}")
			var all struct {
				Identical, Differ, NotKept int
				Items                      []struct{ BatchID int64 }
				More                       bool
				Next                       string
			}
			if err := json.Unmarshal(body, &all); err != nil || status != http.StatusOK || all.Differ > 0 || len(all.Items) != 1 {
				t.Fatalf("%s: %d %.300s", path, status, body)
			}
			if seen += all.Identical; !all.More {
				break
			}
			cursor = all.Next
		}
		if seen == 0 {
			t.Errorf("%s: no batch was done again", path)
		}
		s.caller.Sources = []string{"pubmed"}
		if status, _, _ := s.send(http.MethodPost, path, "{}"); status != http.StatusNotFound {
			t.Errorf("%s of another's source: %d", path, status)
		}
		s.caller.Sources = nil
	}
}

// TestWhatHoldsAndWhatIsMissing asks for settings, secrets, thresholds, gaps and a forecast.
func TestWhatHoldsAndWhatIsMissing(t *testing.T) {
	s := serve(t)
	var settings struct {
		Settings []struct{ Path, Value, From string }
	}
	s.read("/v1/sources/pubmed/settings?operation=HARVEST", &settings)
	found := map[string]string{}
	for _, one := range settings.Settings {
		found[one.Path] = one.From
	}
	if found["rate.perSecond"] != "provenance" || found["findings.stalledAfter"] == "" && len(found) < 30 {
		t.Errorf("%v", found)
	}
	var secrets struct {
		Items []struct{ Reference, Host, State string }
	}
	s.read("/v1/sources/pubmed/secrets", &secrets)
	if len(secrets.Items) == 0 || !strings.HasPrefix(secrets.Items[0].Reference, "env:") || secrets.Items[0].Host == "" || secrets.Items[0].State == "" {
		t.Errorf("%+v", secrets)
	}
	var forecast struct {
		Slices   int
		DryRun   bool
		PlanID   int64
		Forecast struct{ Slices int }
	}
	s.read("/v1/sources/pubmed/forecast?operation=BACKFILL&from=2019-01-01T00:00:00Z&to=2019-02-01T00:00:00Z", &forecast)
	if forecast.Slices == 0 || forecast.Forecast.Slices != forecast.Slices || !forecast.DryRun || forecast.PlanID != 0 {
		t.Errorf("%+v", forecast)
	}
	var gaps struct {
		Items []struct{ Source, Reason string }
	}
	s.read("/v1/sources/crossref/gaps?all=true", &gaps)
	if len(gaps.Items) == 0 || gaps.Items[0].Reason == "" {
		t.Errorf("%+v", gaps)
	}
	for path, want := range map[string]int{
		"/v1/sources/pubmed/settings?endpoint=none":                                               422,
		"/v1/sources/none/settings":                                                               404,
		"/v1/sources/pubmed/forecast?from=2019-02-01T00:00:00Z&to=2019-01-01T00:00:00Z":           422,
		"/v1/sources/pubmed/forecast?from=yesterday":                                              422,
		"/v1/sources/crossref/gaps?from=2025-02-01T00:00:00Z&to=2025-01-01T00:00:00Z&all=perhaps": 422,
	} {
		if status, _, body := s.call(http.MethodGet, path); status != want {
			t.Errorf("%s: %d, want %d: %s", path, status, want, body)
		}
	}
}

// Runs, in their list too, their task and their plan tell how many answers had which status;
// the sums are those of their parts, and nothing but answers is counted.
func TestAnswersAreToldByStatus(t *testing.T) {
	s := serve(t)
	_, run, task := s.newestBatch()
	type counted struct {
		PlanID json.Number `json:"planId"`
		Stats  struct {
			Requests int
			Statuses map[string]int
		}
	}
	var listed struct {
		Items []counted
		More  bool
	}
	s.read("/v1/runs?limit=1000", &listed)
	sums := map[string]int{}
	for _, r := range listed.Items {
		for status, times := range r.Stats.Statuses {
			sums[r.PlanID.String()+" "+status] += times
		}
	}
	var one counted
	s.read("/v1/runs/"+run.String(), &one)
	if n := one.Stats.Statuses["200"]; n == 0 || n > one.Stats.Requests {
		t.Errorf("run %s: %+v", run, one)
	}
	var ofTask struct {
		counted
		Runs []counted
	}
	s.read("/v1/tasks/"+task.String(), &ofTask)
	for _, r := range ofTask.Runs {
		ofTask.Stats.Statuses["200"] -= r.Stats.Statuses["200"]
	}
	if len(ofTask.Runs) == 0 || ofTask.Stats.Statuses["200"] != 0 {
		t.Errorf("task %s is not the sum of its runs: %+v", task, ofTask)
	}
	var plan counted
	s.read("/v1/plans/"+one.PlanID.String(), &plan)
	if listed.More || len(plan.Stats.Statuses) == 0 {
		t.Fatalf("plan %s: %+v", one.PlanID, plan)
	}
	for status, times := range plan.Stats.Statuses {
		if got := sums[one.PlanID.String()+" "+status]; got != times {
			t.Errorf("plan %s had %d answers %s, its runs %d", one.PlanID, times, status, got)
		}
	}
}
