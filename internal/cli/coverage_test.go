package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/core/wording"
)

func TestCoverageShow(t *testing.T) {
	d := harvested(t)
	r := d.expect(term.ExitOK, "coverage", "show", "crossref", "--from", "2025-03-02", "--to", "2025-03-04")
	d.holds(r.out, strings.Repeat("█", 30)+strings.Repeat("✗", 30)+"\n", "50.0 % done, 50.0 % failed", "[2025-03-02, 2025-03-04)")
	d.holds(r.err, "█ done   ✗ failed, waits for its retry")
	if strings.Contains(r.err, "owed") {
		t.Errorf("the legend explains what is not drawn: %s", r.err)
	}
	if open := d.expect(term.ExitOK, "coverage", "show", "-q"); open.err != "" || !strings.Contains(open.out, "[2025-03-01, 20") {
		t.Errorf("%s%s", open.out, open.err)
	}
	var books []view.Coverage
	d.decode(d.expect(term.ExitOK, "coverage", "show", "--from", "2025-03-02", "--to", "2025-03-04", "-o", "json").out, &books)
	if len(books) != 1 || books[0].Cursor.ID != 1 || len(books[0].Segments) == 0 {
		t.Fatalf("%+v", books)
	}
	for _, s := range books[0].Segments {
		if !s.Window.Overlaps(window.Window{From: march(2), To: march(4)}) {
			t.Errorf("segment %s was not asked for", s.Window)
		}
	}
	for _, bad := range [][]string{{"--from", "tomorrow"}, {"--from", "2025-03-05", "--to", "2025-03-05"}, {"--to", "2025-02-01"}, {"--from", "-3x"}, {"--by", "hour"}, {"--from", "1000-01-01", "--by", "day"}, {"one", "two"}} {
		d.expect(term.ExitUsage, append([]string{"coverage", "show"}, bad...)...)
	}
}

// A source that is no longer known can still be shown.
func TestCoverageOfForgottenSource(t *testing.T) {
	d := harvested(t)
	d.exec("UPDATE ing_cursor SET provenance_code = 'gone' WHERE id = 1")
	d.holds(d.expect(term.ExitOK, "coverage", "show", "gone", "--to", "2025-03-05").out, "gone works HARVEST")
}

func TestGapsClose(t *testing.T) {
	d := harvested(t)
	open := d.expect(term.ExitFindings, "coverage", "gaps", "crossref")
	d.holds(open.out, "[2025-03-03, 2025-03-04)", "failed once, retry from ")
	d.holds(open.err, "gaps = 1", "history before 2025-03-01 was never asked for", "nothing after 2025-03-05 was asked for yet")
	if inside := d.expect(term.ExitOK, "coverage", "gaps", "crossref", "--from", "2025-03-01", "--to", "2025-03-03"); !strings.HasPrefix(inside.out, "no gaps in [2025-03-01, 2025-03-03)") || inside.err != "" {
		t.Errorf("%s%s", inside.out, inside.err)
	}
	if err := harvest(t.Context(), d.file, "", march(3), march(4), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	closed := d.expect(term.ExitOK, "coverage", "gaps", "crossref")
	if closed.out != "no gaps in [2025-03-01, 2025-03-05) (works by indexed)\n" {
		t.Errorf("%s", closed.out)
	}
	if r := d.expect(term.ExitOK, "coverage", "gaps", "crossref", "-o", "json"); r.out != emptyList {
		t.Errorf("%s", r.out)
	}
}

func TestGapsJSON(t *testing.T) {
	d := harvested(t)
	var gaps []wording.ToldGap
	d.decode(d.expect(term.ExitFindings, "coverage", "gaps", "crossref", "--all", "-o", "json").out, &gaps)
	if len(gaps) != 3 {
		t.Fatalf("%+v", gaps)
	}
	first, failed, last := gaps[0], gaps[1], gaps[2]
	if first.State != "NOT_ASKED" || first.Window.From.Year() != 2000 || !first.Window.To.Equal(march(1)) {
		t.Errorf("first %+v", first)
	}
	if failed.State != "FAILED" || failed.Fails != 1 || failed.RetryAfter.IsZero() || failed.CursorID != 1 || failed.Field != "indexed" {
		t.Errorf("failed %+v", failed)
	}
	if behind := time.Since(last.Window.To); last.State != "NOT_ASKED" || !last.Window.From.Equal(march(5)) || behind < 30*time.Minute {
		t.Errorf("last %+v ends inside the safety lag of half an hour", last)
	}
}

func TestGapRange(t *testing.T) {
	d := harvested(t)
	ahead := d.expect(term.ExitFindings, "coverage", "gaps", "crossref", "--from", "2025-03-01", "--to", "2999-01-01", "-o", "json")
	d.holds(ahead.err, "not safe to read yet")
	if strings.Contains(ahead.out, "2999") {
		t.Errorf("the time to come is a gap:\n%s", ahead.out)
	}
	for _, bad := range [][]string{{}, {"crossref", "--from", "2999-01-01"}, {"crossref", "--from", "2025-03-02", "--to", "2025-03-01"}, {"crossref", "--to", "2025-02-01"}, {"crossref", "--to", "x"}} {
		d.expect(term.ExitUsage, append([]string{"coverage", "gaps"}, bad...)...)
	}
	// A cursor that follows another date field proves nothing about this one: what
	// it covered is a gap now, also without a word about a range.
	d.exec("UPDATE ing_cursor SET cursor_key = 'deposited' WHERE id = 1")
	other := d.expect(term.ExitFindings, "coverage", "gaps", "crossref")
	d.holds(other.err, "cursor 1 follows deposited", "patra harvest crossref --from 2025-03-01")
	d.holds(other.out, "cursor 1 asked for something else")
	d.expect(term.ExitFindings, "coverage", "gaps", "crossref", "--from", "2025-03-01", "--to", "2025-03-02")
	d.expect(term.ExitFindings, "coverage", "gaps", "crossref", "--all")
}
