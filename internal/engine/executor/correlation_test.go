package executor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// A source whose upstream refuses headers it does not know is asked without them, and what
// is kept of its pages says so.
func TestNoCorrelationWhereTheSourceSaysSo(t *testing.T) {
	inWorld(t, setup{settings: []string{"http.noCorrelation=true"}}, func(w *world) {
		if out := w.run(); out.Task != ingest.TaskSucceeded {
			t.Fatalf("%+v", out)
		}
		for _, e := range w.server.Log() {
			if id := e.Header.Get("X-Ingest-Correlation-Id"); id != "" {
				t.Errorf("%s was sent with %s", e.Query, id)
			}
		}
		for _, b := range w.batches() {
			if request, _ := w.evidence(b.ID); strings.Contains(fmt.Sprint(request), "ing-") {
				t.Errorf("the evidence of batch %d tells of a header that was not sent: %v", b.No, request)
			}
		}
	})
}
