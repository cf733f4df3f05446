package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// One process plans, reads and answers: a gap that is to be filled is filled while the interface
// tells how far that has come, and is no gap any more.
func TestOneProcessPlansReadsAndAnswers(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		d := startDashboard(t, database, "planner,executor,api")
		d.faults("") // their outage is over
		api := &exporter{T: t, address: d.address, token: d.token}
		read := func(method, path, body string, into any) {
			t.Helper()
			status, answer := api.call(method, path, body)
			if err := json.Unmarshal(answer, into); err != nil || status != http.StatusOK {
				t.Fatalf("%s: %d %v %s", path, status, err, answer)
			}
		}
		var gaps struct{ Items []json.RawMessage }
		if read(http.MethodGet, "/v1/sources/"+d.source+"/gaps", "", &gaps); len(gaps.Items) == 0 {
			t.Fatal("there is no gap to fill")
		}
		var filling struct{ Planned []struct{ PlanID int64 } }
		read(http.MethodPost, "/v1/sources/"+d.source+"/fill", fmt.Sprintf(`{"reason":"their outage is over","from":"%[1]sT00:00:00Z","to":"%[1]sT23:59:59Z"}`, badDay), &filling)
		if len(filling.Planned) == 0 || filling.Planned[0].PlanID == 0 {
			t.Fatalf("%+v", filling)
		}
		look := time.NewTicker(20 * time.Millisecond)
		defer look.Stop()
		var plan struct{ Status string }
		for n := 0; plan.Status != "COMPLETED"; n++ {
			<-look.C
			var any map[string]json.RawMessage
			read(http.MethodGet, "/v1/status", "", &any)
			read(http.MethodGet, "/v1/runs", "", &any)
			read(http.MethodGet, fmt.Sprintf("/v1/plans/%d", filling.Planned[0].PlanID), "", &plan)
			if n > 3000 {
				t.Fatalf("plan %d does not end: %s", filling.Planned[0].PlanID, plan.Status)
			}
		}
		for n := 0; ; n++ {
			if read(http.MethodGet, "/v1/sources/"+d.source+"/gaps?from="+badDay+"T00:00:00Z&to="+badDay+"T23:00:00Z", "", &gaps); len(gaps.Items) == 0 {
				break
			}
			if <-look.C; n > 3000 {
				t.Fatalf("the gap stays: %s", gaps.Items)
			}
		}
	})
}
