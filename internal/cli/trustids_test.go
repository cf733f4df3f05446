package cli

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// A watermark of ids has no calendar: it is drawn whole beside those of time, whatever
// range and unit were asked for. One that has nothing in a range hides no other.
func TestTrust10CoverageShowsIDsBesideTime(t *testing.T) {
	d, _, _ := library(t)
	d.expect(term.ExitOK, "update", "lib", "--ids", d.write("ids.txt", "r003\nr004\n"), "--reason", "notice")
	for _, by := range []string{"day", "week", "month", "year"} {
		r := d.expect(term.ExitOK, "coverage", "show", "lib", "--from", "2025-02-01", "--to", "2025-04-01", "--by", by)
		d.holds(r.out, "lib letters HARVEST by updated", "lib letters UPDATE by", " by "+by+"\n", "[0, ")
	}
	r := d.expect(term.ExitOK, "coverage", "show", "lib", "--from", "-90d", "--by", "day")
	d.holds(r.out, "lib letters UPDATE by")
	d.expect(term.ExitOK, "coverage", "show", "lib", "--from", "-90d", "--by", "day", "-o", "json")
	// A campaign that ended before the range is left out, and said to be.
	d.expect(term.ExitOK, "backfill", "lib", "--from", "2024-01-01", "--to", "2024-01-03", "--name", "old")
	r = d.expect(term.ExitOK, "coverage", "show", "lib", "--from", "2025-02-01", "--to", "2025-04-01", "--by", "day")
	d.holds(r.out, "lib letters HARVEST by updated", "lib letters UPDATE by")
	early := d.expect(term.ExitOK, "coverage", "show", "lib", "--from", "2023-12-01", "--to", "2024-02-01", "--by", "day")
	d.holds(early.out, "lib letters BACKFILL by updated", "lib letters UPDATE by")
	if strings.Contains(early.err, "cells") {
		t.Error(early.err)
	}
}
