package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// isHeld asks whether the task called p belongs to a campaign that is paused.
const isHeld = `(p.operation_code = '` + string(ingest.Backfill) + `' AND EXISTS (SELECT 1 FROM ing_plan h JOIN ing_campaign g ON g.cursor_id = h.cursor_id
  WHERE h.id = p.plan_id AND g.state_code = '` + string(ingest.CampaignPaused) + `'))`

// MoveCampaign brings a campaign into another state for an operator, and tells what
// it was. Paused, nothing of it is planned or claimed and workers hear of it with
// their next batch; its tasks stay in the queue as they are. Cancelled, it takes
// no further plan; those it has are cancelled automatically. One that is in that
// state stays as it is, with the actor and the reason of the first.
func (s *Ledger) MoveCampaign(ctx context.Context, name string, to ingest.CampaignState, by ingest.Act) (c ingest.Campaign, changed bool, err error) {
	err = s.step(ctx, "move campaign", kernel.Urgent, func(t *tx) error {
		var known bool
		var err error
		if c, known, err = t.campaignBy("g.name = ?", name); err != nil {
			return err
		}
		switch changed = c.State != to; {
		case !known:
			return kernel.Refuse(fault.ErrNotFound, "there is no campaign "+name)
		case !changed:
			return nil
		case c.State == ingest.CampaignCompleted || !c.State.CanBecome(to):
			return kernel.Refuse(fault.ErrConflict, fmt.Sprintf("campaign %s is %s: it cannot become %s", name, c.State, to))
		}
		if err := t.moveCampaign(&c, to, by, campaignAct(to)); err != nil {
			return err
		}
		if by.Rehearsal {
			return kernel.ErrRehearsed
		}
		return nil
	})
	return c, changed, kernel.Performed(err)
}

func campaignAct(to ingest.CampaignState) string {
	return map[ingest.CampaignState]string{
		ingest.CampaignActive: "campaign.resume", ingest.CampaignPaused: "campaign.pause", ingest.CampaignCancelled: "campaign.cancel",
	}[to]
}

func (t *tx) moveCampaign(c *ingest.Campaign, to ingest.CampaignState, by ingest.Act, action string) error {
	was := c.State
	c.State, c.Actor, c.Reason, c.Since, c.Note = to, kernel.Cut(by.Actor, 128), kernel.Cut(by.Reason, 512), t.Now, ""
	if err := t.ExecOne("UPDATE ing_campaign SET state_code = ?, actor = ?, reason = ?, since = ?, note = NULL, updated_at = ?, version = version + 1 WHERE id = ?",
		string(to), c.Actor, kernel.OrNull(c.Reason), kernel.Micros(t.Now), kernel.Micros(t.Now), c.ID); err != nil {
		return err
	}
	if by.Rehearsal {
		return nil // before it takes a number of the audit log
	}
	return t.auditCampaign(action, c.Name, by, map[string]any{"was": string(was)})
}

func (t *tx) auditCampaign(action, name string, by ingest.Act, detail map[string]any) error {
	return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: action, Object: "campaign/" + name, Reason: by.Reason, Detail: detail})
}

// CompleteCampaign ends an ACTIVE campaign of whose range nothing is owed, and
// reports whether it is COMPLETED now. What is owed is looked at here, not before:
// nobody would look at a completed campaign again.
func (s *Ledger) CompleteCampaign(ctx context.Context, id int64) (completed bool, err error) {
	err = s.step(ctx, "complete campaign", kernel.Bulk, func(t *tx) error {
		c, known, err := t.campaignBy("g.id = ?", id)
		switch {
		case err != nil:
			return err
		case !known:
			return fault.ErrNotFound
		}
		if completed = c.State == ingest.CampaignCompleted; c.State != ingest.CampaignActive {
			return nil
		}
		owed, err := t.owedOf(c)
		if err != nil || len(owed) > 0 {
			return err
		}
		completed = true
		return t.endCampaign(id)
	})
	return completed, err
}

func (t *tx) endCampaign(id int64) error {
	return t.ExecOne("UPDATE ing_campaign SET state_code = ?, since = ?, note = NULL, updated_at = ?, version = version + 1 WHERE id = ?",
		string(ingest.CampaignCompleted), kernel.Micros(t.Now), kernel.Micros(t.Now), id)
}

// NoteCampaign keeps why a planner cannot go on with a campaign, for whoever looks
// at it; an empty text takes it back.
func (s *Ledger) NoteCampaign(ctx context.Context, id int64, why string) error {
	return s.step(ctx, "note campaign", kernel.Bulk, func(t *tx) error {
		_, err := t.Exec("UPDATE ing_campaign SET note = ?, updated_at = ? WHERE id = ? AND COALESCE(note, '') <> ?",
			kernel.OrNull(kernel.Cut(why, 2000)), kernel.Micros(t.Now), id, kernel.Cut(why, 2000))
		return err
	})
}

// takesPlans refuses a plan on the cursor of a campaign that was stopped, whoever
// asks for it. The lock keeps a cancellation from missing the plan.
func (t *tx) takesPlans(cursor int64) error {
	c, known, err := t.campaignBy("g.cursor_id = ?", cursor)
	if err != nil || !known || c.Stopped() == nil {
		return err
	}
	return kernel.Refuse(fault.ErrConflict, c.Stopped().Error())
}

// heldPlans returns the open plans of paused campaigns, and those that have used up their
// requests: their tasks are not claimed. They are few, and mostly there are none.
func (t *tx) heldPlans() ([]int64, error) {
	return t.IDs(`SELECT p.id FROM ing_campaign g JOIN ing_plan p ON p.cursor_id = g.cursor_id
  WHERE g.state_code = '` + string(ingest.CampaignPaused) + `' AND p.status_code IN ('SLICING','PARTIAL','READY')
UNION SELECT p.id FROM ing_request_limit l JOIN ing_plan p ON p.limit_id = l.id WHERE l.holds = 1 AND p.status_code IN ('SLICING','PARTIAL','READY')`)
}

// claimSQL leaves out the tasks of plans that are held. The list is filled up, so
// that few statements are prepared.
func (t *tx) claimSQL(held []int64) (query string, args []any) {
	query = t.Dialect().ClaimSQL
	if len(held) == 0 {
		return query, nil
	}
	n := (len(held) + heldAtOnce - 1) / heldAtOnce * heldAtOnce
	for i := range n {
		args = append(args, held[min(i, len(held)-1)])
	}
	return strings.Replace(query, "partition_id = ?", "partition_id = ? AND plan_id NOT IN (?"+strings.Repeat(",?", n-1)+")", 1), args
}

const heldAtOnce = 10
