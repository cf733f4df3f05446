package view

import "time"

// Announcing is the name of a quota that the upstream announces.
const Announcing = "announced"

// LowestQuota returns the quota of a key of which the least is left, if that is below a
// share of what is usable: of our own quotas, and of what the upstream announced.
func (k RateKey) LowestQuota(now time.Time, share float64) *RateQuota {
	all := append([]RateQuota{}, k.Quotas...)
	for _, r := range k.Processes {
		said := r.State.Announced
		if said.Limit == nil || said.Remaining == nil || *said.Limit <= 0 || !said.Reset.After(now) {
			continue
		}
		limit, left := float64(*said.Limit), float64(*said.Remaining)
		all = append(all, RateQuota{Name: Announcing, Limit: limit, Usable: limit, Used: limit - left, Left: left, Reset: said.Reset})
	}
	var low *RateQuota
	lowest := share
	for _, q := range all {
		if q.Usable > 0 && q.Reset.After(now) && q.Left/q.Usable < lowest {
			low, lowest = &q, q.Left/q.Usable
		}
	}
	return low
}
