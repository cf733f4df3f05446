package rate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func rateColumns() term.Columns[view.RateKey] {
	return term.NewColumns([]string{"key", "group of", "allowed", "now", "quota left", "used by", "state"}, func(k view.RateKey) []any {
		return []any{
			k.Key, rateGroup(k), wording.RateLimitsText(k.Limits), rateNow(k), foldAt(quotaLeft(k), ", "), len(k.Processes),
			foldAt(strings.Join(wording.RateState(k), "\n"), ": "),
		}
	})
}

// foldAt breaks a text of a table at every mark.
func foldAt(text, mark string) string {
	return strings.ReplaceAll(text, mark, strings.TrimSpace(mark)+"\n")
}

// rateGroup names the sources of a key that is not called like its only one.
func rateGroup(k view.RateKey) string {
	sources := rateSources(k)
	if len(sources) == 1 && sources[0] == k.Key {
		return "-"
	}
	return wording.OrDash(wording.Shorten(strings.Join(sources, ", "), 20))
}

func rateSources(k view.RateKey) (out []string) {
	for _, u := range k.Uses {
		if !slices.Contains(out, u.Source) {
			out = append(out, u.Source)
		}
	}
	return out
}

func rateNow(k view.RateKey) string {
	if k.PerSecond == nil {
		return "-"
	}
	return wording.NumberText(*k.PerSecond) + "/s"
}

func quotaLeft(k view.RateKey) string {
	var out []string
	for _, q := range k.Quotas {
		out = append(out, q.Name+" "+wording.NumberText(q.Left))
	}
	return wording.OrDash(strings.Join(out, ", "))
}

func rateFacts(k view.RateKey) []term.Fact {
	facts := []term.Fact{{"key", k.Key}, {"state", term.Wrap(strings.Join(wording.RateState(k), "\n"))}, {"allowed", wording.RateLimitsText(k.Limits)}, {"now", term.Wrap(wording.RateReason(k))}}
	if l := k.Limits; l != nil {
		facts = append(facts,
			term.Fact{"under complaints", fmt.Sprintf("divided by %s, not below %s/s, back by %s/s every %s", wording.NumberText(l.Demote), wording.NumberText(l.MinPerSecond), wording.NumberText(l.Recover), l.RecoverEvery)},
			term.Fact{"announced limits", map[bool]string{true: "obeyed", false: "not obeyed (rate.obeyHeaders)"}[*l.ObeyHeaders]},
		)
		if l.Warmup > 0 {
			facts = append(facts, term.Fact{"warm-up", l.Warmup.String()})
		}
	}
	if len(k.Members) > 0 {
		facts = append(facts, term.Fact{"pool of", term.Wrap(strings.Join(k.Members, ", ") + ": each is counted under a key of its own, and limits here are those of all")})
	}
	if of, member := gate.CutMember(k.Key); member != "" {
		facts = append(facts, term.Fact{"credential", member + ", of the pool of " + of})
	}
	for _, q := range k.Quotas {
		name := "quota of the " + q.Name
		if q.Name == "money" {
			name = "money of the day"
		}
		facts = append(facts, term.Fact{name, term.Wrap(wording.QuotaUseText(q))})
	}
	return append(facts, term.Fact{"shared by", processesText(k)})
}

func processesText(k view.RateKey) string {
	if k.Living == 0 {
		return "no process at work"
	}
	return fmt.Sprintf("%d at work, %d of them have used it", k.Living, len(k.Processes))
}

func rateUseColumns() term.Columns[view.RateUse] {
	return term.NewColumns([]string{"source/endpoint", "operations", "allowed", "costs", "hours", "breaker"}, func(u view.RateUse) []any {
		cost := wording.NumberText(u.Limits.Cost)
		if u.Limits.PricePerRequest > 0 {
			cost += ", price " + wording.NumberText(u.Limits.PricePerRequest)
		}
		hours := wording.OrDash(u.Limits.Hours)
		if !u.Opens.IsZero() {
			hours += "\nopen again " + wording.SecondText(u.Opens)
		}
		return []any{u.Source + "/" + u.Endpoint, strings.Join(u.Operations, "\n"), foldAt(wording.RateLimitsText(&u.Limits), ", "), foldAt(cost, ", "), hours, foldAt(wording.BreakerText(u.Breaker), ": ")}
	})
}

func rateReportColumns() term.Columns[view.RateReport] {
	return term.NewColumns([]string{"process", "rate", "under way", "waiting", "burst left", "gate", "reported"}, func(r view.RateReport) []any {
		s := r.State
		counts := "its own part"
		if s.Shared {
			counts = "shared"
		}
		return []any{
			fmt.Sprintf("%s %d", daemon.HostName(r.Host), r.PID), wording.NumberText(s.PerSecond) + "/s", fmt.Sprintf("%d of %d", s.InFlight, s.Concurrency), s.Waiting,
			wording.NumberText(s.BurstLeft), counts, r.At,
		}
	})
}
