package wording

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

func TestStatusesText(t *testing.T) {
	for want, tally := range map[string]ingest.StatusTally{
		"":                           nil,
		"200: 41":                    {200: 41},
		"200: 41, 429: 2, 503: 1":    {503: 1, 200: 41, 429: 2},
		"404: 1, unknown to HTTP: 3": {ingest.OddStatus: 3, 404: 1},
	} {
		if got := StatusesText(tally); got != want {
			t.Errorf("%v: %q, want %q", tally, got, want)
		}
	}
}

func TestActionsText(t *testing.T) {
	if got := ActionsText(health.Tally{}); got != "" {
		t.Errorf("nothing was done: %q", got)
	}
	if got, want := ActionsText(health.Tally{StopSource: 1, LowerRate: 2}), "LOWER_RATE 2, STOP_SOURCE 1"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
