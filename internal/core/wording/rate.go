package wording

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/view"
)

// RateLimitsText is the rate of a key in a few words.
func RateLimitsText(l *gate.Limits) string {
	if l == nil {
		return "not declared any more"
	}
	return fmt.Sprintf("%s/s, burst %d, %d at once", NumberText(l.PerSecond), l.Burst, l.Concurrency)
}

// RateState lists what keeps requests of a key from leaving; "open" if nothing.
func RateState(k view.RateKey) (out []string) {
	if !k.CoolingUntil.IsZero() {
		out = append(out, fmt.Sprintf("%s until %s", gate.Cooling, SecondText(k.CoolingUntil)))
	}
	for _, u := range k.Uses {
		if b := u.Breaker; b != nil && b.State != fault.BreakerClosed {
			line := fmt.Sprintf("%s of %s/%s: %s", gate.Breaker, u.Source, u.Endpoint, BreakerText(b))
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	for _, q := range k.Quotas {
		if q.Left < 1 && q.Name != "money" || q.Left <= 0 {
			out = append(out, fmt.Sprintf("%s of the %s until %s", gate.Quota, q.Name, SecondText(q.Reset)))
		}
	}
	for _, h := range k.Holds {
		if line := holdText(k, h); line != "" && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	if opens := k.Uses; len(opens) > 0 && !slices.ContainsFunc(opens, func(u view.RateUse) bool { return u.Opens.IsZero() }) {
		first := slices.MinFunc(opens, func(a, b view.RateUse) int { return a.Opens.Compare(b.Opens) })
		out = append(out, fmt.Sprintf("%s until %s", gate.ClosedHours, SecondText(first.Opens)))
	}
	if len(out) == 0 {
		return []string{"open"}
	}
	return out
}

// BreakerText says how the breaker of an endpoint stands.
func BreakerText(b *view.RateBreaker) string {
	if b == nil {
		return "closed"
	}
	text := strings.ReplaceAll(strings.ToLower(string(b.State)), "_", " ")
	switch b.State {
	case fault.BreakerOpen:
		text += " until " + SecondText(b.Until)
	case fault.BreakerHalfOpen:
		text += ", one run tests the upstream"
	}
	if b.Failures > 0 {
		text += fmt.Sprintf(": %d failed in a row: last %s", b.Failures, OrDash(b.LastError))
	}
	return text
}

// RateReason is the rate of this moment and what made it so.
func RateReason(k view.RateKey) string {
	if k.PerSecond == nil {
		return "not known: no process at work has used it"
	}
	text := NumberText(*k.PerSecond) + "/s"
	var why []string
	for _, r := range k.Processes {
		s := r.State
		if s.LoweredBy != "" {
			why = append(why, fmt.Sprintf("lowered %d times, last by %s at %s", s.Demotions, s.LoweredBy, SecondText(s.LoweredAt)))
		} else if s.Shared && s.Demotions > 0 && s.PerSecond < s.Declared {
			why = append(why, fmt.Sprintf("lowered %d times", s.Demotions))
		}
		if k.Limits != nil && s.Declared != k.Limits.PerSecond {
			why = append(why, fmt.Sprintf("what runs now declares %s/s", NumberText(s.Declared)))
		}
		if a := s.Announced.PerSecond; a > 0 && a < s.Declared && s.PerSecond <= a {
			why = append(why, fmt.Sprintf("the upstream announces %s/s", NumberText(s.Announced.PerSecond)))
		}
	}
	slices.Sort(why)
	if why = slices.Compact(why); len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	return text
}

// QuotaUseText says how much of a quota is used and left.
func QuotaUseText(q view.RateQuota) string {
	text := fmt.Sprintf("%s used of %s, %s left until %s", NumberText(q.Used), NumberText(q.Usable), NumberText(q.Left), SecondText(q.Reset))
	if q.Usable < q.Limit {
		text += fmt.Sprintf(" (%s declared, the rest is the margin)", NumberText(q.Limit))
	}
	if q.Reserved > 0 {
		text += fmt.Sprintf("; open tasks are expected to take %s", NumberText(q.Reserved))
	}
	return text
}

// NumberText writes a number without digits nobody wants.
func NumberText(n float64) string { return strconv.FormatFloat(roundTo3(n), 'f', -1, 64) }

// holdText is a line for what is left alone because of a key, unless
// the state of the key itself says so already.
func holdText(k view.RateKey, h view.RateHold) string {
	switch h.Reason {
	case gate.Cooling:
		if !k.CoolingUntil.Before(h.Until) {
			return ""
		}
	case gate.Quota:
		for _, q := range k.Quotas {
			if q.Reset.Sub(h.Until).Abs() < time.Minute && q.Left < 1 {
				return ""
			}
		}
	}
	return fmt.Sprintf("%s of %s/%s %s: until %s", h.Reason, h.Source, h.Endpoint, strings.ToUpper(h.Operation), SecondText(h.Until))
}

// roundTo3 rounds to three decimals.
func roundTo3(n float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(n, 'f', 3, 64), 64)
	if err != nil {
		return n
	}
	return rounded
}
