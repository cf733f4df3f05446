package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// A source of every form of paging, described by its file and nothing else, is
// harvested whole, and what its runs did is explained batch by batch.
func TestHarvestOfEveryPagingForm(t *testing.T) {
	for _, f := range simulated.PagingForms() {
		t.Run(f.Name, func(t *testing.T) {
			s := startForm(f.Name, 0)(t, "sqlite:"+filepath.Join(t.TempDir(), "patra.db"), upsim.Options{})
			s.finish()
			if f.Name == "time" { // windows that did not fit on a page were cut
				s.sane()
				if counts, err := s.open().Records.CountTotals(t.Context(), s.source); err != nil || counts.Records != int64(s.data.Len()) || counts.Outbox != counts.Records {
					t.Errorf("%+v for %d works, %v", counts, s.data.Len(), err)
				}
			} else {
				s.whole()
			}
			s.explained()
		})
	}
}

// explained expects that each batch of each run says what was asked, what came,
// and, of a list, why there is a next page or none.
func (s *subject) explained() {
	s.t.Helper()
	runs, err := s.open().Tasks.ListRuns(s.t.Context(), view.Filter{Limit: 1000})
	if err != nil || len(runs) == 0 {
		s.t.Fatalf("%d runs, %v", len(runs), err)
	}
	for _, r := range runs {
		text := s.must("run", "show", fmt.Sprint(r.ID), "--limit", "1000")
		batches := strings.Split(text, "\nbatch ")[1:]
		if len(batches) != r.Stats.Pages {
			s.t.Errorf("run %d: %d batches of %d pages", r.ID, len(batches), r.Stats.Pages)
		}
		for _, b := range batches {
			details := strings.Contains(b, "/forms/records")
			if !strings.Contains(b, "HTTP 200") || !strings.Contains(b, " seen") || strings.Contains(b, "because of: ") == details {
				s.t.Errorf("run %d does not explain batch %s", r.ID, b)
			}
		}
	}
}
