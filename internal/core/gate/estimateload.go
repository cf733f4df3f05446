package gate

import (
	"math"
	"sort"
	"time"
)

// Load is what is to be sent under one key.
type Load struct {
	Key      string
	Limits   Limits
	Requests float64 // each counted by its weight
	Money    float64
}

// Prospect is what a load means for its key: what it takes of the quotas, and
// when it would be done if nobody else used the key (§4.10.6).
type Prospect struct {
	Key          string    `json:"key"`
	Shares       []Part    `json:"quotas,omitempty"`
	Reserved     float64   `json:"reserved,omitempty"`    // by open tasks, in requests
	CoolingUntil time.Time `json:"coolingUntil,omitzero"` // the upstream wants nothing before
	HeldUntil    time.Time `json:"heldUntil,omitzero"`    // tasks are left alone before, for a reason of our own
	HeldBy       Reason    `json:"heldBy,omitempty"`
	Opens        time.Time `json:"opens,omitzero"`             // of hours that are closed now
	Finish       time.Time `json:"finishedNotBefore,omitzero"` // zero: not within 31 days
}

// Part is how much of one quota a load takes.
type Part struct {
	Quota  string    `json:"quota"` // hour, day or money
	Needed float64   `json:"needed"`
	Left   float64   `json:"left"`   // of the window that is open
	Usable float64   `json:"usable"` // of every window, the margin aside
	Limit  float64   `json:"limit"`
	Reset  time.Time `json:"reset"`
}

// Share returns what the load takes of the limit of one window: more than 1 is more
// than one window.
func (p Part) Share() float64 { return p.Needed / p.Limit }

// Foretell asks Estimate how long the load takes. The state of the key is what the
// store knows of it; processes may know of a lower rate.
func Foretell(load Load, u Use, now time.Time) Prospect {
	out := Prospect{Key: load.Key, Reserved: u.reservedSum()}
	limits := load.Limits.Filled()
	s := NewState(limits, 0, 1, now)
	s.Counted(now)
	s.Credit(u.holdingOf(s.quotas, now), now, now)
	if u.Cooling.After(now) {
		out.CoolingUntil = u.Cooling
		s.Cool(u.Cooling, now)
	}
	if u.Held.After(now) {
		out.HeldUntil, out.HeldBy = u.Held, u.HeldBy
	}
	if opens := s.opensAt(limits.Hours, now); opens.After(now) {
		out.Opens = opens
	}
	for _, q := range s.quotas {
		c, needed := s.seenCounter(q, now), load.Requests
		if q.name == "money" {
			needed = load.Money
		}
		out.Shares = append(out.Shares, Part{
			Quota: q.name, Needed: needed, Left: max(q.usable-c.totalUsed(), 0), Usable: q.usable, Limit: q.limit, Reset: c.windowEnd(q.length, now).UTC(),
		})
	}
	a := Ask{Key: load.Key, Limits: limits, Cost: 1}
	if a.Limits.PricePerRequest = 0; load.Requests > 0 {
		a.Limits.PricePerRequest = load.Money / load.Requests
	}
	out.Finish = s.finishTime(&a, load.Requests, now)
	return out
}

// finishTime returns the shortest horizon, to the second, within which Estimate has
// room for so many requests.
func (s *State) finishTime(a *Ask, requests float64, now time.Time) time.Time {
	seconds := sort.Search(int(maxHorizon/time.Second)+1, func(n int) bool {
		return float64(s.Estimate(a, time.Duration(n)*time.Second, now).Requests) >= math.Floor(requests)
	})
	if at := time.Duration(seconds) * time.Second; at <= maxHorizon {
		return now.Add(at)
	}
	return time.Time{}
}

func (u Use) reservedSum() (sum float64) {
	for _, r := range u.Reserved {
		sum += r.Requests
	}
	return sum
}

// holdingOf returns the use of quotas as a process sees it that has taken nothing.
func (u Use) holdingOf(quotas []allowance, now time.Time) (h Holding) {
	for _, q := range quotas {
		b := Block{Quota: q.name, Start: now.UTC().Truncate(q.length)}
		b.Left = b.Start.Add(q.length).Sub(now)
		for _, t := range u.Taken {
			if t.Quota == q.name && t.Start.Equal(b.Start) {
				b.All += t.Amount // of each member of a pool
			}
		}
		h.Blocks = append(h.Blocks, b)
	}
	return h
}
