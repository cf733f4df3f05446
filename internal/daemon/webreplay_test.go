package daemon

import (
	"context"
	"net/http"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// The batches of a task and of a run can be done again from their pages, and the routes for
// programs are told to people.
func TestReplayOfARunAndTheInterfaceHavePages(t *testing.T) {
	s := newStand(t)
	plan := s.firstIn(s.page("/plans"), `href="(/plans/\d+)"`)
	body := s.page(plan)
	s.has(s.page(s.firstIn(body, `href="(/tasks/\d+/replay)"`)), "under the settings of then", "not kept")
	run := "/runs/" + s.firstIn(body, `run=(\d+)`)
	s.has(s.page(run+"/replay?spec=now"), "under the settings of now", "not kept")
	s.read(1, "batch.replay", "task/", `"now":false`)
	s.read(1, "batch.replay", "run/", `"now":true`)
	for path, by := range map[string]access.Caller{run: {Role: access.Viewer, Name: "v"}, "/runs/1": {Role: access.Admin, Name: "x", Sources: []string{"pubmed"}}} {
		if status, _ := s.get(path+"/replay", by); status != http.StatusForbidden && status != http.StatusNotFound {
			t.Errorf("%s as %s: %d", path, by.Name, status)
		}
	}
	routes := s.app.NewAPI(httpapi.Settings{Version: "test", CallerOf: callerIn, RequestID: func(context.Context) string { return "" }, Log: s.app.config.Log}, nil).Document()
	s.web = s.app.newDashboard("test", routes, callerIn, nil)
	s.has(s.page("/openapi"), "routes for programs", "POST /v1/sources/{source}/trigger", "Idempotency-Key", "reason", "operator", "HARVEST, BACKFILL, UPDATE")
}
