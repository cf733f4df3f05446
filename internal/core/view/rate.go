package view

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

// Waiting is why a task is not worked on though nobody holds it.
type Waiting struct {
	Reason gate.Reason `json:"reason"`
	Until  time.Time   `json:"until,omitzero"` // zero: unknown
	Detail string      `json:"detail,omitempty"`
	// RateKey is under which the requests of the task are counted.
	RateKey string `json:"rateKey,omitempty"`
	// Held is its plan, if that waits for more requests.
	Held *HeldPlan `json:"held,omitempty"`
}

// RateUse is who is counted under a rate key, and with what limits.
type RateUse struct {
	Source     string       `json:"source"`
	Endpoint   string       `json:"endpoint"`
	Operations []string     `json:"operations"`
	Limits     gate.Limits  `json:"limits"`
	Opens      time.Time    `json:"opensAt,omitzero"`  // when its hours begin; zero while they are open
	Breaker    *RateBreaker `json:"breaker,omitempty"` // absent if its last run did not fail
}

// RateBreaker is how the upstream of an endpoint fared.
type RateBreaker struct {
	State     fault.BreakerState `json:"state"`
	Failures  int                `json:"failures"` // runs in a row
	Opened    int                `json:"opened"`   // times in a row
	Until     time.Time          `json:"until,omitzero"`
	LastError string             `json:"lastError,omitempty"`
	At        time.Time          `json:"at"`
}

// RateQuota is how much of a quota all processes used, and what open tasks are
// expected to use.
type RateQuota struct {
	Name     string    `json:"name"` // hour, day or money
	Limit    float64   `json:"limit"`
	Usable   float64   `json:"usable"` // the margin aside
	Used     float64   `json:"used"`
	Left     float64   `json:"left"`
	Reserved float64   `json:"reserved,omitempty"`
	Reset    time.Time `json:"resetAt"`
}

// RateReport is what the gate of a live process said of a key.
type RateReport struct {
	Process string        `json:"process"`
	Host    string        `json:"host"`
	PID     int           `json:"pid"`
	State   gate.Snapshot `json:"state"`
	At      time.Time     `json:"at"`
}

// RateKey is all that is known of a rate key.
type RateKey struct {
	Key          string       `json:"key"`
	Limits       *gate.Limits `json:"limits,omitempty"` // the lowest of all uses; absent if no source declares the key
	Uses         []RateUse    `json:"uses"`
	Members      []string     `json:"members,omitempty"` // of a pool of credentials that is counted by member: names of credentials; limits and quotas are those of all
	Member       string       `json:"member,omitempty"`  // the credential of a pool that alone is counted under it
	CoolingUntil time.Time    `json:"coolingUntil,omitzero"`
	Holds        []RateHold   `json:"holds,omitempty"` // what is left alone because of it, with the reason
	Quotas       []RateQuota  `json:"quotas,omitempty"`
	PerSecond    *float64     `json:"perSecond,omitempty"` // now, over all processes; absent where none reported
	Processes    []RateReport `json:"processes"`
	Living       int          `json:"living"` // processes that share the limits, whether they used the key or not
	At           time.Time    `json:"at"`
}

// SharedRate is a rate group of a source and the other sources that name it.
type SharedRate struct {
	Group string   `json:"group"`
	With  []string `json:"with"`
}

// RateReleased is what a release of a rate key lifted.
type RateReleased struct {
	Key         string          `json:"key"`
	At          time.Time       `json:"at"`
	Quotas      []ReleasedQuota `json:"quotas,omitempty"`     // they begin anew
	PausedUntil time.Time       `json:"pausedUntil,omitzero"` // a pause of the upstream that ended
	Breakers    int             `json:"breakers,omitempty"`   // of endpoints, closed
	Held        int             `json:"held,omitempty"`       // partitions that go on
	Tasks       int             `json:"tasks,omitempty"`      // that are due now
	DryRun      bool            `json:"dryRun,omitempty"`
}

// Changed reports that there was something to lift.
func (r RateReleased) Changed() bool {
	return len(r.Quotas)+r.Breakers+r.Held+r.Tasks > 0 || !r.PausedUntil.IsZero()
}

// With adds what the release of another key lifted.
func (r RateReleased) With(o RateReleased) RateReleased {
	for _, q := range o.Quotas {
		known := slices.IndexFunc(r.Quotas, func(k ReleasedQuota) bool { return k.Name == q.Name })
		if known < 0 {
			r.Quotas = append(r.Quotas, q)
			continue
		}
		r.Quotas[known].Used += q.Used
	}
	if o.PausedUntil.After(r.PausedUntil) {
		r.PausedUntil = o.PausedUntil
	}
	r.Breakers, r.Held, r.Tasks = r.Breakers+o.Breakers, r.Held+o.Held, r.Tasks+o.Tasks
	return r
}

// ReleasedQuota is a quota that begins anew, and what was used of it.
type ReleasedQuota struct {
	Name string  `json:"name"` // hour, day or money
	Used float64 `json:"used"`
}

// RateHold is a partition that is left alone because of its rate key.
type RateHold struct {
	Source    string      `json:"source"`
	Endpoint  string      `json:"endpoint"`
	Operation string      `json:"operation"`
	Reason    gate.Reason `json:"reason"`
	Until     time.Time   `json:"until"`
}
