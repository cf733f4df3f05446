package dispatch

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// §12.2: nobody while the circuit is open, then one.
func TestOrderObeysBreakers(t *testing.T) {
	open := fault.Breaker{Failures: 3, Opened: 1, OpenUntil: noon.Add(time.Minute)}
	for name, c := range map[string]struct {
		breaker  fault.Breaker
		at       time.Time
		endpoint int
		want     int
	}{
		"closed":                      {fault.Breaker{Failures: 2}, noon, 3, 1},
		"open":                        {open, noon, 0, 0},
		"half open":                   {open, noon.Add(time.Minute), 0, 1},
		"half open, one is under way": {open, noon.Add(time.Minute), 1, 0},
	} {
		q := ingest.Queue{PartitionID: 1, MaxConcurrent: 8, Breaker: c.breaker, Endpoint: c.endpoint}
		if got := len(Order([]ingest.Queue{q}, nil, c.at)); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
