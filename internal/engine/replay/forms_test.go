package replay_test

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
)

// Whatever way a source pages or signs, in one step or in two: every batch of a
// harvest with faults is done again offline, request and all, and is identical.
func TestEveryFormIsReplayed(t *testing.T) {
	for _, form := range simulated.Forms() {
		t.Run(form.Name, func(t *testing.T) {
			server, compiled := form.Start(t, dataset(33), "503@every:5;truncate-json@every:7")
			w := harvested(t, compiled)
			list := w.batches()
			if len(list) < 4 {
				t.Fatalf("only %d batches: nothing is proved", len(list))
			}
			asked := server.Requests()
			w.pure(func() {
				rendered, bodies := 0, 0
				for _, b := range list {
					if b.Status == "FAILED" && b.Error != "" {
						continue // kept no body; see TestFailedBatches
					}
					bodies++
					report := w.replay(b.ID, daemon.ReplayOptions{})
					w.same(report)
					if report.Request != nil {
						rendered++
					}
					if len(report.Notes) > 0 && !strings.Contains(strings.Join(report.Notes, ""), "only tested whether the upstream answers") {
						t.Errorf("batch %d: %v", b.ID, report.Notes)
					}
				}
				if rendered != bodies || bodies < 4 {
					t.Errorf("%d of %d requests were rendered", rendered, bodies)
				}
			})
			if now := server.Requests(); now != asked {
				t.Errorf("%d requests left while the replays were offline", now-asked)
			}
		})
	}
}
