package alert

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/view"
)

// What holds where patra.yaml is silent.
const (
	UsualEvery        = 30 * time.Second
	UsualResolveAfter = 5 * time.Minute
	UsualFor          = 2 * time.Minute
	UsualRepeat       = 4 * time.Hour
	// DefaultRule is the name of the rule that holds where none is declared.
	DefaultRule = "default"
	// AtOnce stands for a length of zero that was written: in a value without a pointer
	// it could not be told from one that was not.
	AtOnce duration.Duration = -1
)

// GroupFields are what alerts of one message may have in common.
func GroupFields() []string { return []string{"source", "endpoint", "operation", "code"} }

// lengthOf returns a declared length, or the usual one.
func lengthOf(declared duration.Duration, usual time.Duration) time.Duration {
	switch {
	case declared == AtOnce:
		return 0
	case declared == 0:
		return usual
	}
	return declared.Std()
}

// LookEvery returns how often findings are looked at.
func (c Config) LookEvery() time.Duration { return lengthOf(c.Every, UsualEvery) }

// ResolveAfterTime returns how long a finding must be absent before it counts as resolved.
func (c Config) ResolveAfterTime() time.Duration { return lengthOf(c.ResolveAfter, UsualResolveAfter) }

// RulesInForce returns the declared rules by their names, or the one that holds without
// any.
func (c Config) RulesInForce() (out []Rule) {
	for _, name := range slices.Sorted(maps.Keys(c.Rules)) {
		rule := c.Rules[name]
		rule.Name = name
		out = append(out, rule)
	}
	if len(out) == 0 {
		out = []Rule{{Name: DefaultRule}}
	}
	return out
}

// ReceiverNames lists the declared receivers.
func (c Config) ReceiverNames() []string { return slices.Sorted(maps.Keys(c.Receivers)) }

// notifies lists who is told by a rule.
func (c Config) notifies(r Rule) []string {
	if len(r.Notify) == 0 {
		return c.ReceiverNames()
	}
	names := slices.Clone(r.Notify)
	slices.Sort(names)
	return slices.Compact(names)
}

// selects reports whether a rule is about an alert at all.
func (r Rule) selects(a Alert) bool {
	return (len(r.Codes) == 0 || slices.Contains(r.Codes, string(a.Code))) && (len(r.Sources) == 0 || slices.Contains(r.Sources, a.Subject.Source))
}

// calls reports whether a rule tells an alert that nothing was told of yet. One that is
// told stays open for as long as it is found, whatever becomes of its severity.
func (r Rule) calls(a Alert, heals bool) bool {
	return rank(a.Severity) >= rank(cmp.Or(view.Severity(r.Severity), view.Warning)) && (r.Healing || !heals)
}

// groupOf names the message that an alert belongs to.
func (r Rule) groupOf(a Alert) string {
	by := r.GroupBy
	if len(by) == 0 {
		by = []string{"source"}
	}
	var parts []string
	for _, field := range GroupFields() { // in one order, however they were written
		if slices.Contains(by, field) {
			parts = append(parts, fieldOf(a, field))
		}
	}
	return strings.Join(parts, "\x00")
}

func fieldOf(a Alert, field string) string {
	switch field {
	case "source":
		return a.Subject.Source
	case "endpoint":
		return a.Subject.Endpoint
	case "operation":
		return a.Subject.Operation
	}
	return string(a.Code)
}
