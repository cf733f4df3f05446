package ingest

import (
	"fmt"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/window"
)

// CampaignState is what is done of a BACKFILL campaign.
type CampaignState string

// States of a campaign.
const (
	CampaignActive    CampaignState = "ACTIVE"
	CampaignPaused    CampaignState = "PAUSED"    // nothing of it is planned, claimed or read
	CampaignCancelled CampaignState = "CANCELLED" // given up; what was not read stays owed
	CampaignCompleted CampaignState = "COMPLETED" // all of its range is read or waived
)

// campaignEdges: a cancelled one may be taken up again, and so may a completed one
// whose coverage was opened again.
var campaignEdges = map[CampaignState][]CampaignState{
	CampaignActive:    {CampaignPaused, CampaignCancelled, CampaignCompleted},
	CampaignPaused:    {CampaignActive, CampaignCancelled},
	CampaignCancelled: {CampaignActive},
	CampaignCompleted: {CampaignActive},
}

// CanBecome reports whether the edge is legal.
func (s CampaignState) CanBecome(next CampaignState) bool {
	return slices.Contains(campaignEdges[s], next)
}

// CampaignOrder is which end of its range a campaign begins at.
type CampaignOrder string

// Orders of a campaign (D§5.9).
const (
	NewestFirst CampaignOrder = "NEWEST"
	OldestFirst CampaignOrder = "OLDEST"
)

// NewCampaign is a campaign as it is asked for. Its range is fixed when it begins:
// an end such as -1d does not move with the clock.
type NewCampaign struct {
	Name          string
	Dataset       Dataset
	Namespace     Namespace
	ExprProtoHash string // what is asked for; a changed question is another campaign
	Range         window.Window
	Typed         string        // the range as it was written
	Order         CampaignOrder // empty: NEWEST, and of a known campaign: as it is
	Chunk         time.Duration // how much of the range is planned at once; zero: as it is
	Overrides     []string      // settings that hold for all of it, as written
	AsOf          time.Time     // nowSafe
	Lookback      time.Duration
}

// Campaign is a stored campaign, with who brought it into its state and why.
type Campaign struct {
	NewCampaign
	ID        int64
	CursorID  int64 // of its namespace: plans on it are the campaign's
	State     CampaignState
	Actor     string
	Reason    string
	Since     time.Time
	Note      string // why nothing is planned of it, though it is ACTIVE
	CreatedAt time.Time
}

// Partition returns where its tasks queue.
func (c Campaign) Partition() Partition { return Partition{Dataset: c.Dataset, Operation: Backfill} }

// Stopped refuses work on a campaign that a person has stopped.
func (c Campaign) Stopped() error {
	if c.State != CampaignPaused && c.State != CampaignCancelled {
		return nil
	}
	return CampaignStopped{c}
}

// CampaignStopped says who stopped a campaign, why, and what would change it.
type CampaignStopped struct{ Campaign Campaign }

func (e CampaignStopped) Error() string {
	c := e.Campaign
	text := fmt.Sprintf("campaign %s is %s since %s by %s", c.Name, c.State, c.Since.UTC().Format(time.RFC3339), c.Actor)
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text + fmt.Sprintf(". To go on: patra backfill resume %s --reason …", c.Name)
}

// Is makes it a conflict: trying again is useless until a person acts.
func (e CampaignStopped) Is(target error) bool { return target == fault.ErrConflict }

// ReadSpan is a window that was read to its end, and when.
type ReadSpan struct {
	Window       window.Window
	Began, Ended time.Time
}

// Pace returns how much time of the range a second of work reads, by what was read
// last; zero: unknown. Hours in which nobody worked do not count, and what was read
// at the same time counts once.
func Pace(read []ReadSpan) float64 {
	var busy []window.Window
	var length time.Duration
	for _, r := range read {
		busy = append(busy, window.Window{From: r.Began, To: r.Ended})
		length += r.Window.Duration()
	}
	var worked time.Duration
	for _, w := range window.Union(busy) {
		worked += w.Duration()
	}
	if worked <= 0 {
		return 0
	}
	return float64(length) / float64(worked)
}
