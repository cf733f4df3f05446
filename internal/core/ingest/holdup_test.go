package ingest

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
)

func TestHoldup(t *testing.T) {
	noon := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	open := fault.Breaker{Failures: 3, Opened: 1, OpenUntil: noon.Add(time.Minute)}
	for name, c := range map[string]struct {
		queue Queue
		at    time.Time
		want  Holdup
	}{
		"nothing":                {Queue{}, noon, Holdup{}},
		"failures, still closed": {Queue{Breaker: fault.Breaker{Failures: 2}}, noon, Holdup{}},
		"open":                   {Queue{Breaker: open}, noon, Holdup{gate.Breaker, open.OpenUntil, "3 runs in a row failed at this upstream"}},
		"half open":              {Queue{Breaker: open}, open.OpenUntil, Holdup{}},
		"half open, one looks":   {Queue{Breaker: open, Endpoint: 1}, open.OpenUntil, Holdup{gate.Breaker, time.Time{}, "one run tests whether the upstream is back"}},
		"cooling": {
			Queue{CoolingUntil: noon.Add(1), CoolingCode: gate.Cooling, RateKey: "k"}, noon,
			Holdup{gate.Cooling, noon.Add(1), "the upstream of rate key k asked us to wait"},
		},
		"no longer cooling": {Queue{CoolingUntil: noon, CoolingCode: gate.Cooling}, noon, Holdup{}},
		"quota": {
			Queue{CoolingUntil: noon.Add(1), CoolingCode: gate.Quota, RateKey: "k"}, noon,
			Holdup{gate.Quota, noon.Add(1), "our own quota under rate key k is used up"},
		},
		"a breaker says more than a cool-down": {
			Queue{Breaker: open, CoolingUntil: noon.Add(time.Hour), CoolingCode: gate.Cooling}, noon,
			Holdup{gate.Breaker, open.OpenUntil, "3 runs in a row failed at this upstream"},
		},
	} {
		got, held := c.queue.Holdup(c.at)
		if got != c.want || held != (c.want != Holdup{}) {
			t.Errorf("%s: %+v %v", name, got, held)
		}
	}
}
