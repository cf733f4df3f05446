package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/coverage"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// The failed day is planned, and not the lookback nor anything after it.
func TestFillPlansExactlyTheGaps(t *testing.T) {
	d := harvested(t)
	before := d.dump()
	d.holds(d.expect(term.ExitOK, "coverage", "fill", "crossref", "--set", "slicing.maxPages=0", "--dry-run").out, "HARVEST", "[2025-03-03, 2025-03-04)", "1 slice")
	if !reflect.DeepEqual(before, d.dump()) {
		t.Fatal("a rehearsal wrote something")
	}
	d.holds(d.expect(term.ExitOK, "coverage", "fill", "crossref", "--set", "slicing.maxPages=0", "--reason", "their outage", "--actor", "ann").err, "patra serve")
	d.holds(d.expect(term.ExitOK, "plan", "show", "2").out, "their outage (ann)")
	db := d.db()
	defer db.Close()
	if got := d.column(db, "SELECT actor || ' ' || action || ' ' || object || ' ' || reason FROM ing_audit_log"); !slices.Equal(got, []string{"ann plan.open plan/2 their outage"}) {
		t.Errorf("audit log %q", got)
	}
	var parts []view.Slice
	d.decode(d.expect(term.ExitOK, "slice", "list", "--plan", "2", "-o", "json").out, &parts)
	if len(parts) != 1 || *parts[0].Window != (window.Window{From: march(3), To: march(4)}) {
		t.Errorf("%+v", parts)
	}
	again := d.expect(term.ExitOK, "coverage", "fill", "crossref", "--set", "slicing.maxPages=0")
	d.holds(again.err, "worked on already", "nothing to fill")
	d.expect(term.ExitOK, "cursor", "verify")
}

// Time before the watermark is a campaign of its own and leaves the watermark alone (I6).
func TestFillOfHistoryIsABackfill(t *testing.T) {
	d := harvested(t)
	cursor := d.cursor("1")
	var out []coverage.Filled
	d.decode(d.expect(term.ExitOK, "coverage", "fill", "crossref", "--set", "slicing.maxPages=0", "--from", "2025-02-01", "--to", "2025-03-05", "-o", "json", "--reason", "history").out, &out)
	if len(out) != 2 || out[0].Operation != ingest.Harvest || out[1].Operation != ingest.Backfill || out[1].Campaign == "" || out[1].Window.To != march(1) {
		t.Fatalf("%+v", out)
	}
	after := d.cursor("1")
	if after.Value != cursor.Value || !after.Origin.Equal(cursor.Origin) {
		t.Errorf("the watermark was %+v and is %+v", cursor, after)
	}
	var all []view.Cursor
	d.decode(d.expect(term.ExitOK, "cursor", "list", "crossref", "-o", "json").out, &all)
	if len(all) != 2 || all[0].Operation+all[1].Operation != "HARVESTBACKFILL" && all[0].Operation+all[1].Operation != "BACKFILLHARVEST" {
		t.Errorf("%+v", all)
	}
}

// What a backfill read that asked the same is no gap.
func TestBackfilledTimeIsCovered(t *testing.T) {
	d := harvested(t)
	d.expect(term.ExitOK, "coverage", "fill", "crossref", "--set", "slicing.maxPages=0", "--from", "2025-02-20", "--to", "2025-03-01")
	d.expect(term.ExitFindings, "coverage", "gaps", "crossref", "--from", "2025-02-20", "--to", "2025-03-01")
	d.exec("UPDATE ing_coverage SET have_at = want_at WHERE cursor_id = (SELECT id FROM ing_cursor WHERE operation_code = 'BACKFILL')")
	d.expect(term.ExitOK, "coverage", "gaps", "crossref", "--from", "2025-02-20", "--to", "2025-03-01")
	drawn := d.expect(term.ExitOK, "coverage", "show", "crossref", "--from", "2025-02-27", "--to", "2025-03-05", "--by", "day").out
	d.holds(drawn, "2025-02                            ▓▓\n2025-03  ██✗█\n")
	if n := strings.Count(drawn, "crossref works"); n != 2 {
		t.Errorf("%d strips, want one for the harvest and one for the campaign:\n%s", n, drawn)
	}
}
