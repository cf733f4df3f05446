package status

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
)

// What rules left out stands below the table, and only where there is some.
func TestStatusShowsWhatRulesLeftOut(t *testing.T) {
	text := newStatusReport(view.Status{Sources: []view.SourceStatus{{Source: "a", Endpoint: "works", Excluded: 1}, {Source: "b", Endpoint: "works"}}}).text()
	if !strings.Contains(text, "1 item of a/works left out in 7 days, as response.where says") || strings.Contains(text, "of b/works") {
		t.Error(text)
	}
}
