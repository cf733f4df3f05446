package view_test

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

// A list that has shrunk is accepted or heals; other failures are read again.
func TestGapOfAShrunkListIsAccepted(t *testing.T) {
	for text, want := range map[string]string{
		"SHRUNK: 17 of the 54 ids came again": "patra coverage accept lists/journals --reason …",
		"NETWORK: no answer":                  "patra harvest lists --endpoint journals --retry",
	} {
		f := view.Finding{Code: view.FoundGap, Subject: view.Subject{Source: "lists", Endpoint: "journals"}, Error: text, Gap: &view.Gap{Reason: view.GapFailed}}
		if got := f.Complete(threshold.Limits{}, time.Time{}).Next; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
