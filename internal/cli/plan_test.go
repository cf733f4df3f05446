package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Every operation can be rehearsed: window and slices, the same bytes each time,
// and nothing is written.
func TestEveryOperationIsRehearsed(t *testing.T) {
	d := harvested(t)
	for args, byIDs := range map[string]bool{
		"--op HARVEST":  false,
		"--op BACKFILL": false,
		"--op UPDATE":   true,
		"--op HARVEST --from 2025-03-05 --to 2025-03-08":  false,
		"--op BACKFILL --from 2025-02-01 --to 2025-02-03": false,
		"--op UPDATE --from 2025-03-01 --to 2025-03-04":   false,
	} {
		words := append([]string{"plan", "crossref", "--dry-run", "--offline", "--now", "2035-03-09T12:00:00Z", "-o", "json"}, strings.Fields(args)...)
		first := d.writesNothing(words...)
		var draft daemon.PlanDraft
		d.decode(first.out, &draft)
		if first.code != term.ExitOK || draft.Empty || draft.Window == nil || len(draft.Slices) == 0 {
			t.Fatalf("%s: exit code %d\n%s%s", args, first.code, first.out, first.err)
		}
		for _, s := range draft.Slices {
			if (s.Range != nil) != byIDs || s.From.IsZero() {
				t.Errorf("%s: slice %+v", args, s)
			}
		}
		if again := d.expect(term.ExitOK, words...); again.out != first.out {
			t.Errorf("%s: asked again it is another plan", args)
		}
	}
	r := d.expect(term.ExitOK, "plan", "crossref", "--op", "UPDATE", "--dry-run", "--offline", "--now", "2035-03-09T12:00:00Z", "-v")
	d.fits(r.out)
	d.holds(r.out, "STALE", "1 slice of ids over [")
}

// Turns come and go whether a record is stored or not.
func TestUpdateOfNothing(t *testing.T) {
	d := emptyDesk(t)
	var draft daemon.PlanDraft
	d.decode(d.expect(term.ExitOK, "plan", "pubmed", "--op", "UPDATE", "--dry-run", "-o", "json").out, &draft)
	if draft.Empty || len(draft.Slices) == 0 || draft.Slices[0].Range == nil || draft.Slices[0].Estimate != nil && draft.Slices[0].Estimate.Count > 0 {
		t.Errorf("%+v", draft)
	}
	d.holds(d.expect(term.ExitOK, "plan", "pubmed", "--op", "UPDATE", "--dry-run", "-v").out, "candidates", "1 slice of ids over [")
	d.expect(term.ExitUsage, "plan", "crossref", "--dry-run", "--offline", "--count")
	d.noFile()
}

func TestBackfillIsStored(t *testing.T) {
	d := harvested(t)
	r := d.expect(term.ExitOK, "plan", "crossref", "--op", "BACKFILL", "--from", "2025-02-01", "--to", "2025-02-04", "--offline")
	d.holds(r.err, "stored as plan 2")
	var tasks []struct {
		Operation, Status string
		Priority          int
	}
	d.decode(d.expect(term.ExitOK, "task", "list", "--plan", "2", "-o", "json").out, &tasks)
	if len(tasks) != 3 {
		t.Fatalf("%+v", tasks)
	}
	for _, one := range tasks {
		if one.Operation != "BACKFILL" || one.Status != "QUEUED" || one.Priority != 90 {
			t.Errorf("%+v", one)
		}
	}
}

// Who runs executors alone must know that somebody has to queue the rest (D§5.4).
func TestPlanInPartSaysWhoGoesOn(t *testing.T) {
	if text := work.Stored(ingest.Plan{ID: 7, Status: ingest.PlanReady}); text != "stored as plan 7" {
		t.Error(text)
	}
	if text := work.Stored(ingest.Plan{ID: 7, Status: ingest.PlanPartial}); !strings.Contains(text, "plan 7, in part") || !strings.Contains(text, "planner") {
		t.Error(text)
	}
}
