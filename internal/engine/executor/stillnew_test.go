package executor

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/window"
)

// A slice that asks only for parents that changed asks for those that are new still all the same.
func TestParentsThatAreNewStillArePicked(t *testing.T) {
	at := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	quiet := &slicing.Picked{After: at, Turns: window.Window{From: at, To: at}, Sweep: duration.Duration(24 * time.Hour)}
	s := slicing.Spec{Sector: map[string]string{"repo": "~0/1"}, Opens: &slicing.Opening{Still: []string{"repo=7"}}, Picks: quiet}
	meant, err := sector.ParseParent("7")
	if err != nil {
		t.Fatal(err)
	}
	pick := pickFrom(s.Picks, stillNew(s))
	if !pick(ingest.Parent{Key: meant.Key, Changed: at.Add(-time.Hour)}) {
		t.Error("a parent that is new still is left out because it did not change")
	}
	if pick(ingest.Parent{Key: record.KeyOf("8"), Changed: at.Add(-time.Hour)}) {
		t.Error("a parent that rests is asked for")
	}
	if pickFrom(nil, stillNew(s)) != nil {
		t.Error("a slice that asks for all picks some")
	}
}
