package alert_test

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/view"
)

// An outage is told once it has lasted as long as its rule says; one look that failed is
// told by none.
func TestOutageLastsAsLongAsTheRuleSays(t *testing.T) {
	since := time.Date(2025, 3, 3, 3, 0, 0, 0, time.UTC)
	away := alert.Alert{Code: view.FoundUnreachable, Severity: view.Critical, About: "database", Since: since}
	for _, c := range []struct {
		declared duration.Duration
		lasts    time.Duration
	}{{0, alert.UsualFor}, {alert.AtOnce, alert.UsualFor}, {duration.Duration(3 * time.Second), 3 * time.Second}, {duration.Duration(time.Hour), time.Hour}} {
		config := alert.Config{Receivers: map[string]alert.Receiver{"mail": {}}, Rules: map[string]alert.Rule{"r": {For: c.declared}}}
		if got := config.Outage(away, alert.Firing, since.Add(c.lasts-1)); len(got) != 0 {
			t.Errorf("for %v: told too early: %+v", c.declared, got)
		}
		if got := config.Outage(away, alert.Firing, since.Add(c.lasts)); len(got) != 1 {
			t.Errorf("for %v: %d messages, want one", c.declared, len(got))
		}
	}
}
