package cli

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestCursorShow(t *testing.T) {
	d := harvested(t)
	d.holds(d.expect(term.ExitOK, "cursor", "show", "1").out, "crossref works HARVEST", "indexed", "2025-03-03T00:00:00Z", "PT2H")
	var c view.Cursor
	d.decode(d.expect(term.ExitOK, "cursor", "show", "1", "-o", "json").out, &c)
	if c.ID != 1 || c.Value != "2025-03-03T00:00:00Z" || !c.Origin.Equal(march(1)) || c.Lookback() != 2*time.Hour {
		t.Errorf("%+v", c)
	}
}

func TestCursorHistory(t *testing.T) {
	d := harvested(t)
	var events []view.CursorEvent
	d.decode(d.expect(term.ExitOK, "cursor", "history", "1", "-o", "json").out, &events)
	kinds, moved := "", ""
	for i, e := range events {
		kinds += string(e.Kind) + " "
		moved += map[bool]string{true: "1", false: "0"}[e.Moved]
		if i > 0 && (e.ID <= events[i-1].ID || e.TaskID == 0 || e.Prev != events[i-1].New) {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	if kinds != "PLANNED SUCCEEDED SUCCEEDED FAILED SUCCEEDED " || moved != "11100" {
		t.Errorf("%s, moved %s", kinds, moved)
	}
	d.expect(term.ExitUsage, "cursor", "history", "1", "--limit", "0")
	d.expect(term.ExitUsage, "cursor", "history", "1", "--after", "-1")
}

func TestVerifyFindsTampering(t *testing.T) {
	for name, query := range map[string]string{
		"cursor moved without an event": "UPDATE ing_cursor SET cursor_value = '2025-03-05T00:00:00Z', normalized_instant = 1741132800000000 WHERE id = 1",
		"event changed":                 "UPDATE ing_cursor_event SET new_value = '2025-03-05T00:00:00Z' WHERE id = 4",
		"coverage row lost":             "DELETE FROM ing_coverage WHERE seg_from = (SELECT MIN(seg_from) FROM ing_coverage)",
		"origin changed":                "UPDATE ing_cursor SET origin_instant = 1 WHERE id = 1",
	} {
		t.Run(name, func(t *testing.T) {
			d := harvested(t)
			d.exec(query)
			for _, args := range [][]string{{"cursor", "verify"}, {"cursor", "verify", "1"}} {
				r := d.expect(term.ExitFindings, args...)
				d.holds(r.err, "findings:\ncursor 1: ")
				d.holds(r.out, "findings")
			}
			var verdicts []view.Verdict
			d.decode(d.expect(term.ExitFindings, "cursor", "verify", "-o", "json").out, &verdicts)
			if len(verdicts) != 1 || len(verdicts[0].Problems) == 0 || verdicts[0].Events != 5 {
				t.Errorf("%+v", verdicts)
			}
		})
	}
}

func TestNothingPlannedYet(t *testing.T) {
	d := newDesk(t)
	d.empty()
	for _, args := range [][]string{{"cursor", "list"}, {"cursor", "list", "crossref"}, {"cursor", "verify"}, {"coverage", "show"}, {"coverage", "show", "crossref"}} {
		d.holds(d.expect(term.ExitOK, args...).err, "patra harvest")
		if r := d.expect(term.ExitOK, append(args, "-o", "json")...); r.out != emptyList {
			t.Errorf("%v: %s", args, r.out)
		}
	}
	for _, args := range [][]string{{"cursor", "list", "nobody"}, {"coverage", "show", "nobody"}, {"coverage", "gaps", "nobody"}} {
		d.holds(d.expect(term.ExitNotFound, args...).err, "nobody")
	}
	d.holds(d.expect(term.ExitNotFound, "coverage", "gaps", "crossref").err, "never harvested", "patra harvest crossref")
}
