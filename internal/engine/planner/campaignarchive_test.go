package planner

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// Plans leave the database for files while a campaign goes on. What is planned
// next must not be taken for one of them, whichever went.
func TestCampaignOutlivesItsPlans(t *testing.T) {
	for name, gone := range map[string]int{"the first": 1, "all that ended": 3} {
		t.Run(name, func(t *testing.T) {
			s := database(t)
			c := crossrefFor(t, ingest.Backfill)
			whole := between("2025-02-01T00:00:00Z", "2025-03-01T00:00:00Z")
			now := ask("").Now
			k := NewCampaigns(New(s), s)
			campaign, _, err := k.Open(t.Context(), c, Wish{Name: "long", From: &whole.From, To: &whole.To, Now: now, Chunk: 7 * 24 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			first, err := k.Advance(t.Context(), c, campaign, now)
			if err != nil || len(first.Open) != ahead {
				t.Fatalf("%+v, %v", first, err)
			}
			for _, id := range first.Open {
				if _, err := s.CancelPlan(t.Context(), id, "me", "test"); err != nil {
					t.Fatal(err)
				}
			}
			archived(t, s, first.Open[:gone])
			stand, err := k.Advance(t.Context(), c, campaign, now)
			if err != nil || len(stand.Planned) == 0 || len(stand.Open) == 0 {
				t.Fatalf("%+v, %v", stand, err)
			}
			_, open, err := s.CampaignPlans(t.Context(), campaign.CursorID)
			if err != nil {
				t.Fatal(err)
			}
			var owed []window.Window
			for _, o := range open {
				owed = append(owed, o.Owed...)
			}
			if left := between("2025-02-01T00:00:00Z", "2025-02-08T00:00:00Z"); len(window.Subtract(left, owed)) != 0 {
				t.Errorf("planned are %v, never planned was %s", owed, left)
			}
		})
	}
}

// archived takes ended plans out of the database, as if their file was written.
func archived(t *testing.T, s *store.Store, plans []int64) {
	t.Helper()
	ctx := t.Context()
	a, err := s.BeginPlanArchive(ctx, plans)
	if err != nil {
		t.Fatal(err)
	}
	f := retention.File{Name: a.FileName("e1"), SHA256: fingerprint.Key("file")}
	for _, id := range plans {
		n, err := s.PlanSize(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		f.Rows += n
	}
	if _, err := s.NameArchive(ctx, a.ID, f.Name); err != nil {
		t.Fatal(err)
	}
	if err := s.SealPlans(ctx, a.ID, f); err != nil {
		t.Fatal(err)
	}
}
