package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Every operation can be rehearsed: window and slices, the same bytes each time,
// and nothing is written.
func TestEveryOperationIsRehearsed(t *testing.T) {
	d := harvested(t)
	for args, byIDs := range map[string]bool{
		"--op HARVEST":  false,
		"--op BACKFILL": false,
		"--op UPDATE":   false, // this source cannot be asked for ids
		"--op HARVEST --from 2025-03-05 --to 2025-03-08":  false,
		"--op BACKFILL --from 2025-02-01 --to 2025-02-03": false,
		"--op UPDATE --from 2025-03-01 --to 2025-03-04":   false,
	} {
		words := append([]string{"plan", "crossref", "--dry-run", "--offline", "--now", "2035-03-09T12:00:00Z", "-o", "json"}, strings.Fields(args)...)
		first := d.writesNothing(words...)
		var draft daemon.PlanDraft
		d.decode(first.out, &draft)
		if first.code != exitOK || draft.Empty || draft.Window == nil || len(draft.Slices) == 0 {
			t.Fatalf("%s: exit code %d\n%s%s", args, first.code, first.out, first.err)
		}
		for _, s := range draft.Slices {
			if (s.Range != nil) != byIDs || s.From.IsZero() != byIDs {
				t.Errorf("%s: slice %+v", args, s)
			}
		}
		if again := d.expect(exitOK, words...); again.out != first.out {
			t.Errorf("%s: asked again it is another plan", args)
		}
	}
	r := d.expect(exitOK, "plan", "crossref", "--op", "UPDATE", "--dry-run", "--offline", "--now", "2035-03-09T12:00:00Z", "-v")
	d.fits(r.out)
	d.holds(r.out, "TIME", "1 slice over [") // it cannot be asked for ids
}

// Turns come and go whether a record is stored or not.
func TestUpdateOfNothing(t *testing.T) {
	d := newDesk(t)
	var draft daemon.PlanDraft
	d.decode(d.expect(exitOK, "plan", "pubmed", "--op", "UPDATE", "--dry-run", "-o", "json").out, &draft)
	if draft.Empty || len(draft.Slices) == 0 || draft.Slices[0].Range == nil || draft.Slices[0].Estimate != nil && draft.Slices[0].Estimate.Count > 0 {
		t.Errorf("%+v", draft)
	}
	d.holds(d.expect(exitOK, "plan", "pubmed", "--op", "UPDATE", "--dry-run", "-v").out, "candidates", "1 slice of ids over [")
	d.expect(exitUsage, "plan", "crossref", "--dry-run", "--offline", "--count")
	d.noFile()
}

func TestBackfillIsStored(t *testing.T) {
	d := harvested(t)
	r := d.expect(exitOK, "plan", "crossref", "--op", "BACKFILL", "--from", "2025-02-01", "--to", "2025-02-04", "--offline")
	d.holds(r.err, "stored as plan 2")
	var tasks []struct {
		Operation, Status string
		Priority          int
	}
	d.decode(d.expect(exitOK, "task", "list", "--plan", "2", "-o", "json").out, &tasks)
	if len(tasks) != 3 {
		t.Fatalf("%+v", tasks)
	}
	for _, one := range tasks {
		if one.Operation != "BACKFILL" || one.Status != "QUEUED" || one.Priority != 90 {
			t.Errorf("%+v", one)
		}
	}
}

// The forecast names what it rests on.
func TestOutlook(t *testing.T) {
	figure := func(value float64, source slicing.Source) slicing.Figure {
		return slicing.Figure{Value: value, Source: source}
	}
	seconds, bytes, history, money := figure(3661, slicing.FromCount), figure(3e9, slicing.FromConstant), figure(2048, slicing.FromConstant), figure(2.5, slicing.FromCount)
	draft := &daemon.PlanDraft{Slices: make([]daemon.DraftSlice, 2), Forecast: slicing.Outlook{
		Slices: 2, Items: figure(1500, slicing.FromCount), Requests: figure(32, slicing.FromCount),
		Endpoints: []slicing.EndpointOutlook{{Endpoint: "find", Role: "SEARCH", Requests: figure(2, slicing.FromCount)}, {Endpoint: "read", Role: "DETAIL", Requests: figure(30, slicing.FromCount)}},
		Seconds:   &seconds, Bytes: &bytes, ItemBytes: &history, Money: &money,
	}}
	got := strings.Join(outlook(draft), "\n")
	for _, want := range []string{
		"requests  32 = SEARCH find 2 + DETAIL read 30 (counted by the upstream)", "items     1500 (counted by the upstream)",
		"duration  1h1m1s at the declared rate", "bytes     3GB (2048 an item assumed: nothing was read yet)", "price     2.50",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	history.Source = slicing.FromHistory
	if got := strings.Join(outlook(draft), "\n"); !strings.Contains(got, "(2048 an item in earlier slices)") {
		t.Error(got)
	}
	draft.Source, draft.Operation, draft.Forecast.Requests = "crossref", ingest.Harvest, slicing.Figure{Value: 2, AtLeast: true}
	if got, want := outlook(draft)[0], "requests  at least 2 = SEARCH find 2 + DETAIL read 30 (sizes are not known; `patra plan crossref --op HARVEST --dry-run --count` asks the upstream)"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	draft.Untold = true // --count would not help
	if got, want := outlook(draft)[0], "(sizes are not known: the upstream was asked and did not tell; `patra source test crossref` sends one request and shows the answer)"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if outlook(&daemon.PlanDraft{}) != nil {
		t.Error("an outlook of nothing")
	}
}

// Who runs executors alone must know that somebody has to queue the rest (D§5.4).
func TestPlanInPartSaysWhoGoesOn(t *testing.T) {
	if text := stored(ingest.Plan{ID: 7, Status: ingest.PlanReady}); text != "stored as plan 7" {
		t.Error(text)
	}
	if text := stored(ingest.Plan{ID: 7, Status: ingest.PlanPartial}); !strings.Contains(text, "plan 7, in part") || !strings.Contains(text, "planner") {
		t.Error(text)
	}
}
