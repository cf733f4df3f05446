package alert

import (
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Outage returns the messages that something keeps alerts from being decided, or that it
// ended. There is no state to consult, so every process tells it; the id is the same for
// all that noticed within the same hour. Like a finding, it is told once it has lasted as
// long as the rule says.
func (c Config) Outage(a Alert, kind Kind, now time.Time) (out []Addressed) {
	hour := strconv.FormatInt(a.Since.Truncate(time.Hour).Unix(), 10)
	for _, rule := range c.RulesInForce() {
		if !rule.selects(a) || !rule.calls(a, false) || now.Sub(a.Since) < rule.outageLasts() {
			continue
		}
		m := Message{
			ID:   "alert-" + fingerprint.Key("outage", rule.Name, string(kind), hour, a.Key())[:32],
			Kind: kind, At: now, Rule: rule.Name, Severity: a.Severity, Alerts: []Alert{a},
		}
		for _, receiver := range c.notifies(rule) {
			out = append(out, Addressed{receiver, m})
		}
	}
	return out
}

// outageLasts returns how long an outage lasts before it is told. A rule that tells at once
// waits the usual time: one look that fails says little.
func (r Rule) outageLasts() time.Duration {
	if r.For == AtOnce {
		return UsualFor
	}
	return lengthOf(r.For, UsualFor)
}

// NewTrial returns a message that says only that it arrived.
func NewTrial(receiver string, now time.Time) Message {
	a := Alert{
		Code: "TRIAL", Severity: view.Notice, About: "receiver " + receiver, Since: now,
		Text: "this is a trial of `patra alert test`: messages arrive, and nothing is wrong",
	}
	id := "alert-" + fingerprint.Key("trial", receiver, strconv.FormatInt(now.UnixMicro(), 10))[:32]
	return Message{ID: id, Kind: Trial, At: now, Rule: "trial", Severity: view.Notice, Alerts: []Alert{a}}
}
