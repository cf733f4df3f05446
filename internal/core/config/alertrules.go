package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spelling"
	"github.com/patra-ingest/patra/internal/core/view"
)

// alertRules checks which findings are told to whom. A rule that fits nothing would look
// as if it watched.
func (c *checker) alertRules(a *alert.Config) {
	at := registry.Path{"alerts", "rules"}
	c.alertLength(registry.Path{"alerts", "every"}, &a.Every, false)
	c.alertLength(registry.Path{"alerts", "resolveAfter"}, &a.ResolveAfter, true)
	names := c.keysBelow(at.String())
	if len(names) > 0 && len(a.Receivers) == 0 {
		c.report(at.String(), "rules need a receiver, and none is declared", "declare one under alerts.receivers")
	}
	if a.Rules == nil && len(names) > 0 {
		a.Rules = map[string]alert.Rule{} // of rules that say nothing but their name
	}
	for _, name := range names {
		rule, here := a.Rules[name], append(slices.Clone(at), name)
		if !receiverName.MatchString(name) {
			c.report(here.String(), "is not a name of a rule", "1 to 32 letters, digits, - and _")
		}
		c.knownWords(append(here, "codes"), "code of a finding", rule.Codes, codeNames(), "docs/findings.md lists them")
		c.knownWords(append(here, "groupBy"), "field", rule.GroupBy, alert.GroupFields(), "use "+strings.Join(alert.GroupFields(), ", "))
		if len(a.Receivers) > 0 {
			c.knownWords(append(here, "notify"), "receiver", rule.Notify, a.ReceiverNames(), "declared are "+strings.Join(a.ReceiverNames(), ", "))
		}
		c.alertLength(append(here, "for"), &rule.For, true)
		c.alertLength(append(here, "repeat"), &rule.Repeat, false)
		a.Rules[name] = rule
	}
}

// alertLength keeps a length of zero that was written apart from one that was not.
func (c *checker) alertLength(at registry.Path, d *duration.Duration, zero bool) {
	if _, given := c.places[at.String()]; !given || *d != 0 {
		return
	}
	if zero {
		*d = alert.AtOnce
		return
	}
	c.report(at.String(), "must be longer than zero", "such as PT30S")
}

// knownWords refuses words that are not in a list.
func (c *checker) knownWords(at registry.Path, what string, given, known []string, all string) {
	for _, word := range given {
		if slices.Contains(known, word) {
			continue
		}
		hint := all
		if near := spelling.Nearest(word, known); near != "" {
			hint = "did you mean " + near + "?"
		}
		c.report(at.String(), fmt.Sprintf("%q is no known %s", word, what), hint)
	}
}

func codeNames() (out []string) {
	for _, code := range view.FindingCodes() {
		out = append(out, string(code))
	}
	return out
}
