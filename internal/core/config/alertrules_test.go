package config

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/duration"
)

// The example of the page is one that is taken.
func TestTheExampleOfTheAlertsPageIsRead(t *testing.T) {
	page, err := os.ReadFile("../../../docs/alerts.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	got, err := Decode("patra.yaml", []byte(example))
	if err != nil || len(got.Alerts.Receivers) != 2 || len(got.Alerts.RulesInForce()) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

const oneReceiver = "  receivers: {ops: {command: {run: [/usr/bin/logger]}}}\n"

func TestDecodeAlertRules(t *testing.T) {
	got, err := Decode("patra.yaml", []byte("alerts:\n  every: PT1M\n"+oneReceiver+`  rules:
    all: {}
    night: {severity: CRITICAL, for: PT0S, notify: [ops]}
    day: {codes: [GAP, QUARANTINED], sources: [crossref], groupBy: [code, source], repeat: PT1H}
`))
	if err != nil {
		t.Fatal(err)
	}
	rules := got.Alerts.RulesInForce()
	if len(rules) != 3 || rules[0].Name != "all" || rules[2].For != alert.AtOnce || rules[1].Repeat != duration.Duration(time.Hour) || got.Alerts.LookEvery() != time.Minute {
		t.Errorf("%+v", got.Alerts)
	}
}

func TestAlertRulesAreStrict(t *testing.T) {
	for text, says := range map[string]string{
		oneReceiver + "  rules:\n    a: {codes: [GAPS]}":                  `patra.yaml:4:9: alerts.rules.a.codes: E-VALUE: "GAPS" is no known code of a finding (did you mean GAP?)`,
		oneReceiver + "  rules:\n    a: {notify: [opps]}":                 `alerts.rules.a.notify: E-VALUE: "opps" is no known receiver (did you mean ops?)`,
		oneReceiver + "  rules:\n    a: {groupBy: [day]}":                 `"day" is no known field`,
		oneReceiver + "  rules:\n    a: {severity: BAD}":                  "alerts.rules.a.severity: E-DICT-CODE",
		oneReceiver + "  rules:\n    a: {for: -PT1M}":                     "alerts.rules.a.for",
		oneReceiver + "  rules:\n    a: {repeat: PT0S}":                   "must be longer than zero",
		oneReceiver + "  rules:\n    a: {}\n    a: {}":                    "E-DUPLICATE-KEY",
		oneReceiver + "  rules:\n    a b: {}":                             "is not a name",
		oneReceiver + "  rules:\n    a b: {for: PT1M}":                    "is not a name",
		oneReceiver + "  rules:\n    a: {evry: PT1M}":                     "E-UNKNOWN-KEY",
		oneReceiver + "  every: PT0S":                                     "alerts.every: E-VALUE: must be longer than zero",
		"  rules:\n    a: {}":                                             "none is declared",
		oneReceiver + "  rules:\n    - name: a\n      severity: CRITICAL": "alerts.rules: E-TYPE: expected a mapping",
	} {
		_, err := Decode("patra.yaml", []byte("alerts:\n"+text))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}
