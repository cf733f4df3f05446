package cli

import (
	"testing"

	"github.com/patra-ingest/patra/internal/cli/coverage"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

func TestReconcile(t *testing.T) {
	d := harvested(t)
	server, err := startUpstream("")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	args := func(more ...string) []string {
		args := append([]string{"coverage", "reconcile", "crossref"}, more...)
		for _, s := range settings(server.URL()) {
			args = append(args, "--set", s)
		}
		return args
	}
	good := d.expect(term.ExitOK, args()...)
	d.holds(good.out, "[2025-03-01, 2025-03-02)  12        12    0        OK")
	d.holds(good.err, "what the upstream counts now was compared", "1 window of works: not covered")
	// A reading that had less than the upstream has is a finding.
	d.exec("UPDATE ing_window_history SET actual = 9 WHERE window_from = ?", march(2).UnixMicro())
	short := d.expect(term.ExitFindings, args()...)
	d.holds(short.out, "12        9     3        SHORT")
	d.holds(short.err, "`patra status crossref` names the command that reads them again")
	d.holds(unfolded(d.expect(term.ExitFindings, "status").out), "! crossref/works: the upstream counted 3 items that were not read: in [2025-03-02, 2025-03-03) it has 12, and 9 were read",
		"`patra backfill crossref --endpoint works --from 2025-03-02 --to 2025-03-03 --name recount-")
	d.expect(term.ExitOK, args("--tolerance", "30")...)
	d.expect(term.ExitOK, args("--to", "2025-03-02")...)
	var out []coverage.Reconciled
	d.decode(d.expect(term.ExitFindings, args("-o", "json")...).out, &out)
	if len(out) != 3 || out[1].Verdict != view.CountsShort || *out[1].Upstream != 12 || *out[1].Read != 9 || out[0].Verdict != view.CountsAgree {
		t.Errorf("%+v", out)
	}
	// Half a day is not what a slice had.
	d.holds(d.expect(term.ExitOK, args("--from", "2025-03-01T12:00:00Z", "--to", "2025-03-02")...).out, "UNKNOWN: it was not read in slices that add up to it")
	d.expect(term.ExitUsage, args("--by", "hour")...)
	d.expect(term.ExitUsage, args("--tolerance", "-1")...)
	d.expect(term.ExitUsage, args("--set", "query=title:x")...)
	// Nobody who answers is not the same as equal counts.
	asked := args("--to", "2025-03-02")
	server.Close()
	d.holds(d.expect(term.ExitUpstream, asked...).out, "UNKNOWN: the upstream did not tell a total")
}
