package daemon

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

// A schedule looks for new files: one plan of one slice, which is the listing, and none while that is open.
func TestServePlansFilesBySchedule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	dump, _, err := registry.Decode("dump.yaml", fmt.Appendf(nil, fileSource, "https://files.example.org"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := openStation(t, file)
		s.pass(time.Hour)
		s.apply(func(src *registry.Source) {
			*src = *dump
			src.Schedule = every(10 * time.Minute)
		})
		s.serve()
		s.pass(25 * time.Minute)
		plans, err := s.app.store.Plans(t.Context(), view.Filter{Limit: 9})
		if err != nil || len(plans) != 1 || plans[0].Status != "READY" || plans[0].Endpoint != "works" {
			t.Fatalf("%+v, %v\n%q", plans, err, s.triggers())
		}
		slices, err := s.app.store.Slices(t.Context(), view.Filter{Limit: 9})
		if err != nil || len(slices) != 1 {
			t.Errorf("%+v, %v", slices, err)
		}
		s.close()
	})
}
