package ledger

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Big numbers and windows between odd instants must still fit a terminal.
func TestWidestRows(t *testing.T) {
	odd := window.Window{From: time.Date(2025, 3, 1, 11, 30, 15, 123456000, time.UTC), To: time.Date(2025, 3, 2, 11, 30, 15, 654321000, time.UTC)}
	const id, token, text = 123456, "AoJ4nMqPzqjkAj8DaHR0cDovL2R4LmRvaS5vcmc", "SERVER_ERROR (HTTP 500): GET /works of an upstream that talks a lot"
	stats := ingest.BatchStats{Seen: 1000, Inserted: 1000, Updated: 1000, Unchanged: 1000, Gone: 100, Stale: 1000, Duplicate: 100, Outside: 100, Excluded: 100, Quarantined: 100}
	var out strings.Builder
	e := &term.Env{Out: &out, Err: &out, Output: "table"}
	for _, err := range []error{
		term.PrintList(e, []view.Task{{ID: id, PlanID: 1234, Source: "a-source-with-a-long-code", Operation: "BACKFILL", Status: "DISPATCHED", Window: odd, Attempts: 5, ErrorCode: "LEASE_EXPIRED"}}, taskColumns()),
		term.PrintList(e, []view.Slice{{ID: id, PlanID: 12345, No: 1234, ParentID: id, TaskID: id, Source: "a-source-with-a-long-code", Status: "DISPATCHED", Window: &odd, Partition: "journal=a-journal-with-a-long-name,lang=en"}}, sliceColumns()),
		term.PrintList(e, []view.Run{{ID: id, TaskID: id, Attempt: 5, Source: "a-source-with-a-long-code", Status: "SUCCEEDED", Window: odd, Stats: ingest.RunStats{BatchStats: ingest.BatchStats{Seen: 1234567, Inserted: 1234567}}, ErrorCode: "LEASE_EXPIRED"}}, runColumns()),
		term.PrintList(e, []view.Batch{{ID: id, RunID: 12345, No: 1234, Pass: 1, Page: 1234, Status: "SUCCEEDED", Stats: stats, AfterToken: token}, {Status: "FAILED", Error: text}}, batchColumns()),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 120 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
