package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

func (d *desk) cursor(id string) (c view.Cursor) {
	d.Helper()
	d.decode(d.expect(term.ExitOK, "cursor", "show", id, "-o", "json").out, &c)
	return c
}

func TestCursorSetIsShownAndAgreedTo(t *testing.T) {
	d := harvested(t)
	before := d.dump()
	set := []string{"cursor", "set", "1", "--to", "2025-03-02", "--reason", "read it again", "--actor", "ann"}
	d.expect(term.ExitUsage, "cursor", "set", "1", "--to", "2025-03-02")
	d.expect(term.ExitUsage, "cursor", "set", "1", "--reason", "why")
	d.expect(term.ExitUsage, "cursor", "set", "1", "--to", "soon", "--reason", "why")
	d.expect(term.ExitNotFound, "cursor", "set", "9", "--to", "2025-03-02", "--reason", "why")
	d.expect(term.ExitUsage, "cursor", "set", "1", "--to", "2999-01-01", "--reason", "why", "--yes")
	unsure := d.expect(term.ExitUsage, set...)
	d.holds(unsure.err, "--yes")
	dry := d.expect(term.ExitOK, append(set, "--dry-run")...)
	for _, r := range []result{unsure, dry} {
		d.holds(r.out, "before", "2025-03-03T00:00:00Z", "after", "2025-03-02T00:00:00Z", "read again", "[2025-03-02, 2025-03-03)\n", "[2025-03-04, 2025-03-05)", "left behind  nothing")
	}
	if !reflect.DeepEqual(before, d.dump()) {
		t.Fatal("a preview wrote something")
	}
	d.holds(d.expect(term.ExitOK, append(set, "--yes")...).err, "to take it back: patra cursor set 1 --to 2025-03-03T00:00:00Z")
	if c := d.cursor("1"); c.Value != "2025-03-02T00:00:00Z" || !c.Origin.Equal(march(2)) {
		t.Errorf("%+v", c)
	}
	var events []view.CursorEvent
	d.decode(d.expect(term.ExitOK, "cursor", "history", "1", "-o", "json").out, &events)
	if e := events[len(events)-1]; e.Kind != coverage.Manual || e.Actor != "ann" || e.Reason != "read it again" || !e.Moved {
		t.Errorf("%+v", e)
	}
	d.holds(d.expect(term.ExitOK, "cursor", "history", "1").out, "MANUAL", "ann: read it again")
	d.expect(term.ExitOK, "cursor", "verify")
	d.holds(d.expect(term.ExitOK, append(set, "--yes")...).err, "nothing was changed")
}

// What a watermark is set past stays a gap until somebody reads or waives it.
func TestSetForwardLeavesNoSilentHole(t *testing.T) {
	d := harvested(t)
	var done view.CursorSet
	d.decode(d.expect(term.ExitOK, "cursor", "set", "1", "--to", "2025-03-06", "--reason", "skip", "--yes", "-o", "json").out, &done)
	if !done.Changed || done.DryRun || !reflect.DeepEqual(done.Left, []window.Window{{From: march(3), To: march(4)}, {From: march(5), To: march(6)}}) {
		t.Errorf("%+v", done)
	}
	open := d.expect(term.ExitFindings, "coverage", "gaps", "crossref")
	d.holds(open.out, "[2025-03-03, 2025-03-04)  owed when cursor 1 was set by hand", "[2025-03-05, 2025-03-06)")
	if strings.Contains(open.out, "2025-03-01") || strings.Contains(open.out, "[2025-03-04") {
		t.Errorf("what was read is a gap:\n%s", open.out)
	}
	d.holds(d.expect(term.ExitFindings, "status").out, "gap [2025-03-03, 2025-03-04)")
	for _, w := range [][2]string{{"2025-03-03", "2025-03-04"}, {"2025-03-05", "2025-03-06"}} {
		d.expect(term.ExitOK, "coverage", "waive", "crossref", "--from", w[0], "--to", w[1], "--reason", "lost", "--yes")
	}
	d.expect(term.ExitOK, "coverage", "gaps", "crossref")
	d.expect(term.ExitOK, "cursor", "verify")
}

func TestCursorReset(t *testing.T) {
	d := harvested(t)
	d.expect(term.ExitOK, "cursor", "reset", "1", "--reason", "start over", "--yes")
	if c := d.cursor("1"); c.Value != "" || len(c.Left) != 1 || !c.Left[0].From.Equal(march(1)) {
		t.Errorf("%+v", c)
	}
	d.holds(d.expect(term.ExitFindings, "coverage", "gaps", "crossref").out, "[2025-03-01, 2025-03-05)")
	d.expect(term.ExitOK, "cursor", "verify")
	if err := harvest(t.Context(), d.file, "", march(1), march(5), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	d.expect(term.ExitOK, "coverage", "gaps", "crossref")
}

func TestRepair(t *testing.T) {
	d := harvested(t)
	d.exec("UPDATE ing_cursor SET cursor_value = '2025-03-05T00:00:00Z', normalized_instant = 1741132800000000 WHERE id = 1")
	repair := []string{"cursor", "verify", "--repair", "--reason", "restored"}
	d.expect(term.ExitUsage, "cursor", "verify", "--repair", "--yes")
	d.expect(term.ExitUsage, "cursor", "verify", "--dry-run")
	before := d.dump()
	d.holds(d.expect(term.ExitUsage, repair...).err, "--yes")
	dry := d.expect(term.ExitOK, append(repair, "--dry-run")...)
	d.holds(dry.out, "2025-03-05T00:00:00Z", "2025-03-03T00:00:00Z")
	d.holds(dry.err, "cursor 1: the cursor is")
	if !reflect.DeepEqual(before, d.dump()) {
		t.Fatal("a preview wrote something")
	}
	d.expect(term.ExitOK, append(repair, "--yes")...)
	d.expect(term.ExitOK, "cursor", "verify")
	d.holds(d.expect(term.ExitOK, append(repair, "--yes")...).err, "nothing was changed")
	// A ledger that contradicts itself stays a finding.
	d.exec("UPDATE ing_cursor_event SET new_value = '2025-03-05T00:00:00Z' WHERE id = 4")
	d.holds(d.expect(term.ExitFindings, append(repair, "--yes")...).err, "in the ledger itself")
}

func TestWaive(t *testing.T) {
	d := harvested(t)
	waive := []string{"coverage", "waive", "crossref", "--from", "2025-03-02", "--to", "2025-03-05", "--reason", "lost at the upstream", "--actor", "ann"}
	d.expect(term.ExitUsage, "coverage", "waive", "crossref", "--from", "2025-03-02", "--to", "2025-03-05")
	d.expect(term.ExitUsage, "coverage", "waive", "crossref", "--from", "2025-03-02", "--reason", "why")
	d.expect(term.ExitNotFound, "coverage", "waive", "crossref/other", "--from", "2025-03-02", "--to", "2025-03-03", "--reason", "why")
	d.expect(term.ExitNotFound, "coverage", "waive", "nobody", "--from", "2025-03-02", "--to", "2025-03-03", "--reason", "why")
	before := d.dump()
	d.holds(d.expect(term.ExitOK, append(waive, "--dry-run")...).out, "[2025-03-03, 2025-03-04)", "2025-03-03T00:00:00Z → 2025-03-05T00:00:00Z")
	d.expect(term.ExitUsage, waive...)
	if !reflect.DeepEqual(before, d.dump()) {
		t.Fatal("a preview wrote something")
	}
	d.expect(term.ExitOK, append(waive, "--yes")...)
	d.expect(term.ExitOK, "coverage", "gaps", "crossref")
	drawn := d.expect(term.ExitOK, "coverage", "show", "crossref", "--from", "2025-03-01", "--to", "2025-03-05", "--by", "day")
	d.holds(drawn.out, "2025-03  ██w█\n", "100.0 % done (25.0 % waived)")
	d.holds(drawn.err, "w waived")
	d.expect(term.ExitOK, "cursor", "verify")
}

// At 3 a.m. a window that an update gave up must have a way out besides retrying.
func TestWaiveAWindowOfAnUpdate(t *testing.T) {
	d := harvested(t)
	d.expect(term.ExitOK, "coverage", "waive", "crossref", "--from", "2025-03-03", "--to", "2025-03-04", "--reason", "not what is tested here", "--yes")
	server, err := startUpstream("2025-03-03")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	update := []string{"update", "crossref", "--from", "2025-03-02", "--to", "2025-03-05"}
	for _, s := range append(settings(server.URL()), "contact.email=a@example.org") {
		update = append(update, "--set", s)
	}
	d.expect(term.ExitPartial, update...)
	var cursors []view.Cursor
	d.decode(d.expect(term.ExitOK, "cursor", "list", "crossref", "-o", "json").out, &cursors)
	i := slices.IndexFunc(cursors, func(c view.Cursor) bool { return c.Operation == "UPDATE" })
	if i < 0 {
		t.Fatalf("%+v", cursors)
	}
	id := fmt.Sprint(cursors[i].ID)
	said := strings.Join(strings.Fields(d.expect(term.ExitFindings, "status").out), " ")
	d.holds(said, "1 range failed and still owed by cursor "+id, "patra coverage waive --cursor "+id)
	waive := []string{"coverage", "waive", "--cursor", id, "--from", "2025-03-02", "--to", "2025-03-05", "--reason", "lost at the upstream", "--actor", "ann"}
	d.expect(term.ExitUsage, append(slices.Clone(waive), "crossref", "--yes")...)
	d.expect(term.ExitUsage, "coverage", "waive", "--from", "2025-03-02", "--to", "2025-03-05", "--reason", "x")
	d.expect(term.ExitNotFound, "coverage", "waive", "--cursor", "4711", "--from", "2025-03-02", "--to", "2025-03-05", "--reason", "x")
	before := d.dump()
	d.holds(d.expect(term.ExitOK, append(waive, "--dry-run")...).out, id+": crossref works UPDATE by", "[2025-03-03, 2025-03-04)")
	if !reflect.DeepEqual(before, d.dump()) {
		t.Fatal("a preview wrote something")
	}
	d.expect(term.ExitOK, append(waive, "--yes")...)
	d.holds(d.expect(term.ExitOK, "status").out, "no findings")
	d.holds(d.expect(term.ExitOK, "coverage", "show", "crossref", "--from", "2025-03-02", "--to", "2025-03-05", "--by", "day").out, "UPDATE", "█w█\n")
	d.holds(d.expect(term.ExitOK, "audit", "list").out, "coverage.waive", "cursor/"+id)
	d.expect(term.ExitOK, "cursor", "verify")
}

// What a campaign or a count of ids owes is not waived by its watermark.
func TestWaiveRefusesOtherWatermarks(t *testing.T) {
	d := harvested(t)
	named := []string{"coverage", "waive", "--cursor", "2", "--from", "2025-02-01", "--to", "2025-02-02", "--reason", "x", "--yes"}
	d.expect(term.ExitOK, "backfill", "crossref", "--from", "2025-02-01", "--to", "2025-02-03", "--name", "early", "--detach")
	d.holds(d.expect(term.ExitUsage, named...).err, "patra backfill waive early")
	d.exec("UPDATE ing_cursor SET cursor_type_code = 'ID', cursor_key = 'signal_id' WHERE id = 2")
	d.holds(d.expect(term.ExitUsage, named...).err, "counts signal_id")
}
