package operate

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/spec"
)

func (d *desk) AddSignals(_ context.Context, _ ingest.Dataset, _ refresh.Kind, named []ingest.NewSignal, by ingest.Act) (ingest.SignalsAdded, error) {
	d.calls, d.by = d.calls+1, by
	from := int64(1000 * d.calls)
	return ingest.SignalsAdded{Added: len(named) - 1, Known: 1, From: from, To: from + int64(len(named))}, nil
}

func (d *desk) QuarantinedIDs(_ context.Context, _ ingest.Dataset, after int64, limit int) (out []ingest.NewSignal, err error) {
	for i := after + 1; i <= 1200 && len(out) < limit; i++ {
		out = append(out, ingest.NewSignal{ID: fmt.Sprint(i), QuarantineID: i})
	}
	return out, nil
}

// Signals are added chunk by chunk, and the numbers that stand for all of them are known.
func TestSignal(t *testing.T) {
	d := &desk{}
	var ids []string
	for i := range 1200 {
		ids = append(ids, fmt.Sprint(i))
	}
	letters := spec.Snapshot{Source: "lib", Endpoint: "letters", Detail: &spec.Snapshot{}}
	want := ingest.SignalsAdded{Added: 1197, Known: 3, From: 1000, To: 3200}
	if done, err := New(d).Signal(t.Context(), letters, refresh.Merge, ids, me); err != nil || done != want || d.calls != 3 || d.by != me {
		t.Errorf("%+v in %d calls, %v", done, d.calls, err)
	}
	d.calls = 0
	if done, err := New(d).SignalQuarantined(t.Context(), letters, me); err != nil || done != want || d.calls != 3 {
		t.Errorf("%+v in %d calls, %v", done, d.calls, err)
	}
	for name, try := range map[string]func() error{
		"nobody says why": func() error {
			_, err := New(d).Signal(t.Context(), letters, refresh.Merge, ids, ingest.Act{Actor: "me"})
			return err
		},
		"no reason": func() error {
			_, err := New(d).SignalQuarantined(t.Context(), letters, ingest.Act{Actor: "me"})
			return err
		},
		"no way to ask": func() error {
			_, err := New(d).Signal(t.Context(), spec.Snapshot{Source: "lib"}, refresh.Merge, ids, me)
			return err
		},
		"no way to ask again": func() error {
			_, err := New(d).SignalQuarantined(t.Context(), spec.Snapshot{Source: "lib"}, me)
			return err
		},
		"no id": func() error { _, err := New(d).Signal(t.Context(), letters, refresh.Merge, nil, me); return err },
	} {
		if err := try(); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
