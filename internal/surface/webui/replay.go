package webui

import (
	"context"
	"fmt"
	"net/http"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Replayer does batches again without writing anything.
type Replayer interface {
	// Replay reads a batch again: from its kept body, or by asking the upstream; under the
	// settings of then, or those of now. The audit log has who does it.
	Replay(ctx context.Context, batch int64, upstream, now bool, by ingest.Act) (*blackbox.Report, error)
	// ReplayAll reads batches of a run or a task again from their kept bodies, newest first.
	ReplayAll(ctx context.Context, f view.Filter, now bool, by ingest.Act) (blackbox.Replayed, error)
}

// replayPage is what a batch gives when it is done again.
type replayPage struct {
	Proof    *evidence
	Upstream bool
	Today    bool // under the settings of now
	Report   *blackbox.Report
	Says     string
	Records  []blackbox.RecordChange
	More     int // records that are not shown
}

// recordsOfReplay is how many records of a replay are shown.
const recordsOfReplay = 50

// replayBatch answers whether a batch gives the same again. Nothing is written. To ask the
// upstream sends a request, so that needs a click: a link could be followed by anybody.
func (s *site) replayBatch(a *ask) (page, error) {
	id, err := a.number()
	if err != nil {
		return page{}, err
	}
	e, err := s.readEvidence(a.Context(), a, id)
	if err != nil {
		return page{}, err
	}
	r := replayPage{Proof: e, Upstream: a.Method == http.MethodPost, Today: a.FormValue("spec") == "now"}
	if !r.Upstream && !e.Kept {
		return page{Template: "replay", Title: fmt.Sprintf("Batch %d cannot be read again: its body is not kept", id), Crumbs: batchWay(e, "replay"), Body: r}, nil
	}
	p := page{Template: "replay", Crumbs: batchWay(e, "replay"), Lead: "nothing is written and nothing is published"}
	done := load(a, "the batch", func(ctx context.Context) (*blackbox.Report, error) {
		return s.Work.Replay.Replay(ctx, id, r.Upstream, r.Today, a.readBy())
	})
	if done.Broken != nil {
		done.Broken.Why = replayTrouble(done.Broken.Code)
		done.Broken.Next = fmt.Sprintf("patra batch replay %d", id)
		return page{Template: "problem", Crumbs: p.Crumbs, Title: fmt.Sprintf("Batch %d cannot be done again", id), Status: http.StatusUnprocessableEntity, Body: *done.Broken}, nil
	}
	r.Report, r.Says = done.Value, wording.BlameText(done.Value)
	r.Records = r.Report.Records[:min(len(r.Report.Records), recordsOfReplay)]
	r.More = len(r.Report.Records) - len(r.Records)
	p.Title = fmt.Sprintf("Batch %d gives the same again", id)
	if !r.Report.Identical {
		p.Title = fmt.Sprintf("Batch %d is not as it was: %s", id, r.Says)
	}
	p.Body = r
	return p, nil
}

// replayAllPage is what the batches of a run or a task give when they are done again (§5.9).
type replayAllPage struct {
	blackbox.Replayed
	Today bool
	Other string // address of the same under other settings
	Older string
}

// batchesOfReplay is how many batches a page does again.
const batchesOfReplay = 20

// replayRun answers whether the batches of a run give the same again.
func (s *site) replayRun(a *ask) (page, error) {
	id, err := a.number()
	if err != nil {
		return page{}, err
	}
	r, err := s.Work.Tasks.Run(a.Context(), id, 0, 1)
	if err == nil && !a.Caller.Sees(r.Source) {
		err = unseen("run", id)
	}
	if err != nil {
		return page{}, err
	}
	return s.replayAll(a, fmt.Sprintf("run %d", id), view.Filter{RunID: id}, r.PlanID)
}

// replayTask answers whether the batches of a task give the same again.
func (s *site) replayTask(a *ask) (page, error) {
	t, err := s.taskSeen(a)
	if err != nil {
		return page{}, err
	}
	return s.replayAll(a, fmt.Sprintf("task %d", t.ID), view.Filter{TaskID: t.ID}, t.PlanID)
}

func (s *site) replayAll(a *ask, what string, f view.Filter, plan int64) (p page, err error) {
	if f.Before, err = a.numberOf("before"); err != nil {
		return page{}, err
	}
	f.Limit = batchesOfReplay
	all := replayAllPage{Today: a.FormValue("spec") == "now", Other: a.with("spec", "now")}
	if all.Today {
		all.Other = a.with("spec", "")
	}
	if all.Replayed, err = s.Work.Replay.ReplayAll(a.Context(), f, all.Today, a.readBy()); err != nil {
		return page{}, err
	}
	if all.More {
		all.Older = a.with("before", all.Next)
	}
	title := fmt.Sprintf("%s of %s as they were", countText(all.Identical, "batch"), what)
	if all.Differ > 0 {
		title = fmt.Sprintf("%s of %s not as they were", countText(all.Differ, "batch"), what)
	}
	return page{Template: "replayall", Title: title, Lead: "nothing is written and nothing is published", Crumbs: append(planWay(plan), crumb{Name: what + " again"}), Body: all}, nil
}

// replayTrouble says why a batch cannot be done again. The error itself may name folders of
// the machine (R12).
func replayTrouble(code string) string {
	if code == "CONFLICT" {
		return "Others are being done again right now: try it in a moment."
	}
	return "It is in the log. The command line tells more."
}
