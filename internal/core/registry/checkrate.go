package registry

import (
	"fmt"
	"regexp"

	"github.com/patra-ingest/patra/internal/core/gate"
)

// groupName is what keys of the rate gate look like: they are names in a shared
// store and arguments of commands.
var groupName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

// checkRate is the part of rule 6 that is about the rate gate.
func (r *Resolved) checkRate() Problems {
	var out Problems
	l := r.Rate
	refuse := func(key, message, hint string) { out = append(out, r.problemAt(Path{"rate", key}, message, hint)) }
	if l.QuotaMargin >= 1 {
		refuse("quotaMargin", "E-SHARE: must be at least 0 and less than 1", "")
	}
	if l.MinPerSecond > l.PerSecond {
		refuse("minPerSecond", fmt.Sprintf("E-RATE-FIT: %v is more than rate.perSecond %v", l.MinPerSecond, l.PerSecond), "")
	}
	out = append(out, r.checkRateWithKey()...)
	if l.Demote <= 1 {
		refuse("demote", "E-RATE-FIT: must be more than 1, or the rate would not fall", "")
	}
	if l.BudgetPerDay > 0 && l.PricePerRequest == 0 {
		refuse("budgetPerDay", "E-RATE-FIT: there is no rate.pricePerRequest to spend it on", "")
	}
	if l.BudgetPerDay > 0 && l.PricePerRequest > l.BudgetPerDay {
		refuse("budgetPerDay", "E-RATE-FIT: it does not pay for one request", "")
	}
	for key, quota := range map[string]int64{"quotaPerHour": l.QuotaPerHour, "quotaPerDay": l.QuotaPerDay} {
		if usable := float64(quota) * (1 - l.QuotaMargin); quota > 0 && usable < l.Cost {
			refuse(key, fmt.Sprintf("E-RATE-FIT: after rate.quotaMargin %v no request fits into it", l.QuotaMargin), "")
		}
	}
	if _, err := gate.ParseHours(l.Hours); err != nil {
		refuse("hours", "E-RATE-HOURS: "+err.Error(), "")
	}
	if l.Group != "" && !groupName.MatchString(l.Group) {
		refuse("group", fmt.Sprintf("E-RATE-GROUP: %.80q cannot be the name of a group", l.Group), "use up to 63 small letters, digits, dots, dashes and underscores")
	}
	return out.sortProblems()
}

// checkRateWithKey refuses a rate for requests with a key that nobody may leave out: there
// it is simply the rate.
func (r *Resolved) checkRateWithKey() Problems {
	path, with := Path{"rate", "perSecondWithKey"}, r.Rate.PerSecondWithKey
	switch {
	case with == 0:
		return nil
	case len(r.Auth.Names()) == 0 || *r.Auth.Required:
		return Problems{r.problemAt(path, "E-RATE-KEY: it is for a credential that may be left out, and this endpoint has none (auth.credential with required: false)", "write the rate as rate.perSecond")}
	case with <= r.Rate.PerSecond:
		return Problems{r.problemAt(path, fmt.Sprintf("E-RATE-KEY: %v is not more than rate.perSecond %v, which holds without a key", with, r.Rate.PerSecond), "")}
	}
	return nil
}

// raisedRates is the part of Raised that is about numbers and who they are
// shared with.
func (r *Resolved) raisedRates(declared *Resolved) Problems {
	var out Problems
	now, was := r.Rate, declared.Rate
	for key, values := range map[string][2]float64{
		"perSecond":    {now.PerSecond, was.PerSecond},
		"burst":        {float64(now.Burst), float64(was.Burst)},
		"concurrency":  {float64(now.Concurrency), float64(was.Concurrency)},
		"quotaPerHour": {float64(now.QuotaPerHour), float64(was.QuotaPerHour)},
		"quotaPerDay":  {float64(now.QuotaPerDay), float64(was.QuotaPerDay)},
		"budgetPerDay": {now.BudgetPerDay, was.BudgetPerDay},
	} {
		asked := fmt.Sprint(values[0])
		if values[0] == 0 { // of limits that need not be there
			asked = "0, which is no limit,"
		}
		if values[1] > 0 && (values[0] > values[1] || values[0] == 0) {
			out = append(out, r.problemAt(Path{"rate", key}, fmt.Sprintf("E-RATE-RAISED: %s is more than the %v the source declares", asked, values[1]),
				"a run may only lower it; to raise it, change and apply the source file"))
		}
	}
	if now.PerSecondWithKey > 0 && now.PerSecondWithKey > was.WithKey().PerSecond {
		out = append(out, r.problemAt(Path{"rate", "perSecondWithKey"}, fmt.Sprintf("E-RATE-RAISED: %v is more than the %v the source declares", now.PerSecondWithKey, was.WithKey().PerSecond),
			"a run may only lower it; to raise it, change and apply the source file"))
	}
	for key, values := range map[string][2]float64{
		"cost":            {now.Cost, was.Cost},
		"pricePerRequest": {now.PricePerRequest, was.PricePerRequest},
		"quotaMargin":     {now.QuotaMargin, was.QuotaMargin},
	} {
		if values[0] < values[1] {
			out = append(out, r.problemAt(Path{"rate", key}, fmt.Sprintf("E-RATE-RAISED: %v is less than the %v the source declares", values[0], values[1]),
				"more requests would leave; to do so, change and apply the source file"))
		}
	}
	for key, values := range map[string][2]string{"hours": {now.Hours, was.Hours}, "group": {now.Key(r.Source), was.Key(declared.Source)}} {
		if values[0] != values[1] && values[1] != "" {
			out = append(out, r.problemAt(Path{"rate", key}, fmt.Sprintf("E-RATE-RAISED: the source declares %q", values[1]),
				"a run may not leave it; to do so, change and apply the source file"))
		}
	}
	return out
}
