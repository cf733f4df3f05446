package record

import (
	"testing"
	"time"
)

// A miss deletes a stored record only if it follows another one that is a day old.
func TestBelieve06AMissIsNotADeletion(t *testing.T) {
	missing := func(since time.Time) *Head {
		return &Head{ProviderID: "a", State: Active, UpdatedAt: t0, FetchAt: t0, Version: 1, MissingSince: since}
	}
	at := t0.Add(100 * 24 * time.Hour)
	for name, c := range map[string]struct {
		stored *Head
		fate   Fate
		action Action
	}{
		"never stored":          {nil, NotFound, Miss},
		"a tombstone":           {&Head{State: Gone, FetchAt: t0, MissingSince: t0}, StillGone, Miss},
		"the first":             {missing(time.Time{}), FirstMiss, Miss},
		"again, too soon":       {missing(at.Add(1 - SecondMissAfter)), MissedSoon, Miss},
		"again, a day later":    {missing(at.Add(-SecondMissAfter)), Vanished, Remove},
		"again, a year later":   {missing(t0), Vanished, Remove},
		"seen after the asking": {&Head{State: Active, FetchAt: at.Add(1), MissingSince: t0}, SeenSince, Miss},
	} {
		in := Incoming{ProviderID: "a", Missed: true, FetchAt: at}
		if fate, action := FateOf(c.stored, in), Decide(c.stored, in); fate != c.fate || action != c.action {
			t.Errorf("%s: fate %d and %s, want %d and %s", name, fate, action, c.fate, c.action)
		}
	}
}

func TestBelieve06ASightingEndsAMiss(t *testing.T) {
	head := &Head{State: Active, FetchAt: t0, MissingSince: t0.Add(time.Hour)}
	for name, c := range map[string]struct {
		stored *Head
		in     Incoming
		want   bool
	}{
		"it came":               {head, Incoming{FetchAt: t0.Add(2 * time.Hour)}, true},
		"an answer from before": {head, Incoming{FetchAt: t0.Add(time.Minute)}, false},
		"another miss":          {head, Incoming{FetchAt: t0.Add(2 * time.Hour), Missed: true}, false},
		"a deletion":            {head, Incoming{FetchAt: t0.Add(2 * time.Hour), Gone: true}, false},
		"it was not missing":    {&Head{State: Active}, Incoming{FetchAt: t0}, false},
		"it was not stored":     {nil, Incoming{FetchAt: t0}, false},
	} {
		if got := Sights(c.stored, c.in); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
