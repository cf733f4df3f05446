package daemon

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
)

// Each kind of finding is found when its cause is there, alone, as docs/findings.md says of it,
// and is over when its cause is: judged from stored rows at an instant that is given.
func TestEveryFindingComesAndGoes(t *testing.T) {
	all, documented := troubles(), documentedFindings(t)
	for _, code := range view.FindingCodes() {
		if n := len(slices.DeleteFunc(slices.Clone(all), func(one trouble) bool { return one.code != code })); n != 1 {
			t.Errorf("%s has %d entries in troubles()", code, n)
		}
	}
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		for _, one := range all {
			w.comesAndGoes(one, documented[one.code])
		}
	})
}

// What follows from a cause is a fact of its finding, not another one.
func TestOneCauseIsOneFinding(t *testing.T) {
	documented := documentedFindings(t)
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newWorld(t, database)
		for _, one := range chains() {
			w.comesAndGoes(one, documented[one.code])
		}
	})
}

// comesAndGoes brings a trouble about, ends it, and holds what is found to what it says.
func (w *world) comesAndGoes(one trouble, documented findingRow) {
	w.Helper()
	if found := w.look(); len(found) > 0 {
		w.Fatalf("before %s: %v: %+v", one.code, codesOf(found), found[0])
	}
	if needs := one.after + one.calm; w.now.Add(needs).Truncate(tickEach).After(w.now) { // better soon after a tick
		w.pass(w.now.Truncate(tickEach).Add(tickEach + lookEach).Sub(w.now))
	}
	one.bring(w)
	for n, until := 0, w.now.Add(one.after); w.now.Before(until); n++ {
		w.pass(lookEach)
		if one.lasts != nil {
			one.lasts(w, n)
		}
	}
	found := w.look()
	if len(found) != 1 || found[0].Code != one.code {
		w.Errorf("%s: found %v", one.code, codesOf(found))
		for _, f := range found {
			w.Logf("%+v", f)
		}
	} else {
		w.holdFinding(found[0], one, documented)
	}
	one.mend(w)
	w.pass(max(one.calm, lookEach))
	if found := w.look(); len(found) > 0 {
		w.Fatalf("%s is over: %v: %+v", one.code, codesOf(found), found[0])
	}
}

// holdFinding compares a finding with its entry and with its row in the documentation.
func (w *world) holdFinding(f view.Finding, one trouble, documented findingRow) {
	w.Helper()
	severity := view.Severity(documented.severity)
	if one.raised != "" {
		severity = one.raised
	}
	about := f.Subject
	about.CursorID = 0
	if f.Severity != severity || about != one.about {
		w.Errorf("%s: %s about %+v, want %s about %+v", one.code, f.Severity, about, severity, one.about)
	}
	if f.Heals != one.heals || f.Heals && documented.heals == "no" {
		w.Errorf("%s: heals %t, documented: %s", one.code, f.Heals, documented.heals)
	}
	if one.fact != nil && !one.fact(f) {
		w.Errorf("%s: a fact is missing: %+v", one.code, f)
	}
	if !slices.ContainsFunc(documented.commands, func(c string) bool { return strings.HasPrefix(f.Next, c) }) {
		w.Errorf("%s: next %q, documented: %q", one.code, f.Next, documented.commands)
	}
}

// findingRow is what docs/findings.md says of a kind of finding.
type findingRow struct {
	severity, heals string
	commands        []string
}

// documentedFindings reads the table of docs/findings.md.
func documentedFindings(t *testing.T) map[view.FindingCode]findingRow {
	t.Helper()
	text, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[view.FindingCode]findingRow{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 5 || !strings.HasPrefix(line, "| `") {
			continue
		}
		row := findingRow{severity: cells[1], heals: cells[3]}
		for n, part := range strings.Split(cells[4], "`") {
			if n%2 == 1 {
				row.commands = append(row.commands, part)
			}
		}
		out[view.FindingCode(strings.Trim(cells[0], "|` "))] = row
	}
	return out
}
