package alert

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

var at = time.Date(2025, 3, 20, 3, 0, 0, 0, time.UTC)

func paused() Alert {
	return Alert{Code: view.FoundPaused, Severity: view.Warning, Subject: view.Subject{Source: "crossref", Endpoint: "works"}, About: "crossref/works",
		Text: "paused since 2025-03-20 02:10Z by patra: HTTP 401", Next: "patra source resume crossref", Since: at.Add(-50 * time.Minute)}
}

func gap() Alert {
	return Alert{Code: view.FoundGap, Severity: view.Critical, Subject: view.Subject{Source: "crossref", Campaign: "y2024"}, About: "campaign y2024",
		Text: "gap [2025-03-01, 2025-03-02)", Next: "patra coverage fill crossref", Since: at.Add(-26 * time.Hour)}
}

func TestAMessageAtThreeInTheMorning(t *testing.T) {
	for _, c := range []struct {
		m    Message
		want string
	}{
		{Message{ID: "a", Kind: Firing, Severity: view.Warning, Alerts: []Alert{paused()}}, `
WARNING crossref/works: paused since 2025-03-20 02:10Z by patra: HTTP 401

WARNING PAUSED crossref/works: paused since 2025-03-20 02:10Z by patra: HTTP 401 (since 2025-03-20 02:10Z)
~patra source resume crossref~

patra, rule night, 2025-03-20 03:00Z`},
		{Message{ID: "a", Kind: Repeated, Severity: view.Critical, Alerts: []Alert{gap(), paused()}}, `
STILL CRITICAL crossref: 2 findings: GAP, PAUSED

CRITICAL GAP crossref campaign y2024: gap [2025-03-01, 2025-03-02) (since 2025-03-19 01:00Z)
~patra coverage fill crossref~

WARNING PAUSED crossref/works: paused since 2025-03-20 02:10Z by patra: HTTP 401 (since 2025-03-20 02:10Z)
~patra source resume crossref~

patra, rule night, 2025-03-20 03:00Z`},
		{Message{ID: "a", Kind: Resolved, Severity: view.Critical, Alerts: []Alert{resolved(gap())}}, `
RESOLVED crossref campaign y2024: GAP is over after 1d 2h

crossref campaign y2024 GAP is over after 1d 2h. It was: gap [2025-03-01, 2025-03-02)

patra, rule night, 2025-03-20 03:00Z`},
		{Message{ID: "a", Kind: Firing, Severity: view.Warning, Alerts: []Alert{{Code: view.FoundNoWorker, Severity: view.Warning, About: "queue", Text: "waiting: 3 tasks"}}}, `
WARNING queue: waiting: 3 tasks

WARNING NO_WORKER queue: waiting: 3 tasks

patra, rule night, 2025-03-20 03:00Z`},
		{Message{ID: "a", Kind: Trial}, `
TRIAL: patra can reach you; nothing is wrong

patra, rule night, 2025-03-20 03:00Z`},
	} {
		c.m.At, c.m.Rule = at, "night"
		if got, want := Text(c.m), strings.ReplaceAll(strings.TrimPrefix(c.want, "\n"), "~", "`"); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		if title, _, _ := strings.Cut(Text(c.m), "\n"); title != Title(c.m) {
			t.Errorf("it begins with %q, not with its title", title)
		}
	}
}

func resolved(a Alert) Alert {
	a.ResolvedAt = at
	return a
}

// However much is wrong, a message stays one that a chat takes; and no word in it
// steers a terminal or makes lines of its own.
func TestTextsAreBounded(t *testing.T) {
	m := Message{Kind: Firing, Severity: view.Critical, At: at, Rule: "night"}
	for i := range 1000 {
		a := gap()
		a.Subject.Source, a.Text = fmt.Sprintf("source%d", i), strings.Repeat("x\x1b[31m\r\n\u202e", 1000)
		m.Alerts = append(m.Alerts, a)
	}
	text := Text(m)
	if len(text) > 12000 || !strings.Contains(text, "and 990 more: `patra alert list` shows all") || strings.ContainsAny(text, "\x1b\r\u202e") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	if want := "CRITICAL source0, source1, source2, source3, source4 and 995 more: 1000 findings: GAP"; Title(m) != want {
		t.Errorf("%s", Title(m))
	}
	if strings.Count(text, "\n") != 3*mostTold+3+1 {
		t.Errorf("%d lines", strings.Count(text, "\n"))
	}
}
