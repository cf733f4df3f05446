package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Signed is what every change carries: why, and whether it is only tried. Who changes
// something is the token, never a field (R9).
type Signed struct {
	Reason string `json:"reason" minLength:"1" maxLength:"512" doc:"Why; it stands in the audit log."`
	DryRun bool   `json:"dryRun,omitempty" doc:"Tell what would change, and change nothing."`
}

func (s Signed) act(who access.Caller) ingest.Act {
	return ingest.Act{Actor: who.Actor(), Reason: s.Reason, Rehearsal: s.DryRun}
}

// signedByID is a change of one row that needs nothing but a reason.
type signedByID struct {
	ByID
	Body Signed
}

// act adds a route that changes something.
func act[I, O any](a *api, role access.Role, id, path, tag, summary string, do func(context.Context, access.Caller, *I) (O, error)) {
	answer(a, newAct(role, id, path, tag, summary), do)
}

// newAct describes a route that changes something.
func newAct(role access.Role, id, path, tag, summary string) op {
	return op{Route: Route{Method: http.MethodPost, Path: path, Role: role, Audited: true}, id: id, tag: tag, summary: summary, errors: []int{http.StatusNotFound, http.StatusConflict}}
}

func (a *api) registerActs() {
	a.registerScopeActs()
	a.registerTaskActs()
	a.registerCursorActs()
	a.registerItemActs()
	a.registerAlertActs()
	a.registerTriggers()
	a.registerFiles()
	a.registerExports()
}

// Scoped is a part of a source that a change is for.
type Scoped struct {
	Source string `path:"source" maxLength:"64"`
	Body   struct {
		Signed
		Endpoint  string    `json:"endpoint,omitempty" maxLength:"64" doc:"Only this endpoint."`
		Operation string    `json:"operation,omitempty" enum:"HARVEST,BACKFILL,UPDATE"`
		Until     time.Time `json:"until,omitzero" doc:"Of a pause: when it ends automatically."`
	}
}

func (s Scoped) scope() ingest.Scope {
	return ingest.Scope{Source: s.Source, Endpoint: s.Body.Endpoint, Operation: ingest.Operation(s.Body.Operation)}
}

func (a *api) registerScopeActs() {
	act(a, access.Operator, "pause-source", "/v1/sources/{source}/pause", "sources", "Stop the work on a source or a part of it",
		func(ctx context.Context, who access.Caller, in *Scoped) (out view.PauseDone, err error) {
			if err := a.checkSource(ctx, who, in.Source); err != nil {
				return out, err
			}
			by := in.Body.act(who)
			by.Until = in.Body.Until
			return a.Operator.Pause(ctx, in.scope(), by)
		})
	act(a, access.Operator, "resume-source", "/v1/sources/{source}/resume", "sources", "Go on with a source or a part of it",
		func(ctx context.Context, who access.Caller, in *Scoped) (out view.ResumeDone, err error) {
			if err := a.checkSource(ctx, who, in.Source); err != nil {
				return out, err
			}
			return a.Operator.Resume(ctx, in.scope(), in.Body.act(who))
		})
}

// checkSource refuses sources that do not exist, or not for this caller.
func (a *api) checkSource(ctx context.Context, who access.Caller, code string) error {
	if !who.Sees(code) {
		return errUnseen("source", code)
	}
	all, err := a.Sources.List(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		if s.Code == code {
			return nil
		}
	}
	return errUnseen("source", code)
}

// seenByID is a change of one row that may be told what its caller saw.
type seenByID struct {
	ByID
	Seen
	Body Signed
}

func (in *seenByID) signature() *Signed { return &in.Body }

// Picked are the tasks that a change is for: some by their ids, or those of a plan.
type Picked struct {
	Seen
	Body struct {
		Signed
		IDs    []int64 `json:"ids,omitempty" maxItems:"1000"`
		Plan   int64   `json:"plan,omitempty" minimum:"1"`
		Status string  `json:"status,omitempty" enum:"FAILED,CANCELLED" doc:"Of a retry by plan: which tasks; default FAILED."`
	}
}

func (in *Picked) signature() *Signed { return &in.Body.Signed }

// pick reads which tasks are meant, and refuses those that the caller does not see.
func (a *api) pick(ctx context.Context, who access.Caller, in *Picked) (out ingest.TaskPick, err error) {
	b := in.Body
	out = ingest.TaskPick{IDs: b.IDs, PlanID: b.Plan, Status: ingest.TaskStatus(b.Status)}
	switch {
	case len(b.IDs) > 0 == (b.Plan != 0):
		return out, fmt.Errorf("%w: name either ids or a plan", fault.ErrInvalid)
	case b.Plan != 0:
		plan, err := a.Plans.Show(ctx, b.Plan)
		if err == nil && !who.Sees(plan.Source) {
			err = errUnseen("plan", b.Plan)
		}
		return out, err
	}
	if who.SeesAll() {
		return out, nil
	}
	for _, id := range b.IDs {
		rows, err := a.Work.List(ctx, view.Filter{TaskID: id, Limit: 1})
		if err == nil && (len(rows) == 0 || !who.Sees(rows[0].Source)) {
			err = errUnseen("task", id)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (a *api) registerTaskActs() {
	actSeen(a, access.Operator, "cancel-tasks", "/v1/tasks/cancel", "work", "Cancel tasks; what they were to read stays owed",
		func(ctx context.Context, who access.Caller, in *Picked) (out view.TasksDone, err error) {
			pick, err := a.pick(ctx, who, in)
			if err != nil {
				return out, err
			}
			return a.Operator.Cancel(ctx, pick, in.Body.act(who))
		}, tasksMark)
	actSeen(a, access.Operator, "retry-tasks", "/v1/tasks/retry", "work", "Try tasks again that failed or were cancelled",
		func(ctx context.Context, who access.Caller, in *Picked) (out view.TasksDone, err error) {
			pick, err := a.pick(ctx, who, in)
			if err != nil {
				return out, err
			}
			if pick.PlanID != 0 && pick.Status == "" {
				pick.Status = ingest.TaskFailed
			}
			return a.Operator.Retry(ctx, pick, in.Body.act(who))
		}, tasksMark)
	actSeen(a, access.Operator, "cancel-plan", "/v1/plans/{id}/cancel", "plans", "Cancel a plan; its windows stay owed",
		func(ctx context.Context, who access.Caller, in *seenByID) (out view.PlanCancel, err error) {
			plan, err := a.Plans.Show(ctx, in.ID)
			if err == nil && !who.Sees(plan.Source) {
				err = errUnseen("plan", in.ID)
			}
			switch {
			case err != nil:
				return out, err
			case in.Body.DryRun:
				return a.PlanActs.PreviewCancel(ctx, in.ID)
			}
			return a.PlanActs.Cancel(ctx, in.ID, who.Actor(), in.Body.Reason)
		}, planMark)
}

// waiveIn is a range of time that is not to be read.
type waiveIn struct {
	Seen
	ByID
	Body struct {
		Signed
		From      time.Time `json:"from"`
		To        time.Time `json:"to"`
		Partition string    `json:"partition,omitempty" maxLength:"1024" doc:"Only this part of a list that is asked for in parts, such as set=cs, where it is behind the others."`
	}
}

func (in *waiveIn) signature() *Signed { return &in.Body.Signed }

// acceptIn is a list whose newest reading is to be accepted.
type acceptIn struct {
	Seen
	ByID
	Body struct{ Signed }
}

func (in *acceptIn) signature() *Signed { return &in.Body.Signed }

func (a *api) registerCursorActs() {
	type setIn struct {
		ByID
		Body struct {
			Signed
			To time.Time `json:"to" doc:"The new value."`
			// Version is that of the cursor which the caller looked at (R11).
			Version int64 `json:"version" minimum:"0" doc:"Of the cursor that you looked at; another one is refused."`
		}
	}
	act(a, access.Admin, "set-cursor", "/v1/cursors/{id}/set", "cursors", "Move a watermark; a dry run tells what is read again or left behind",
		func(ctx context.Context, who access.Caller, in *setIn) (out view.CursorSet, err error) {
			c, err := a.findCursor(ctx, who, in.ID)
			if err != nil {
				return out, err
			}
			if c.Version != in.Body.Version {
				return out, fmt.Errorf("cursor %d has version %d: %w: look at it again", in.ID, c.Version, errChanged)
			}
			return a.CursorActs.Set(ctx, in.ID, in.Body.To, in.Body.act(who))
		})
	actSeen(a, access.Operator, "waive-coverage", "/v1/cursors/{id}/waive", "cursors", "Accept that a range of time is not read",
		func(ctx context.Context, who access.Caller, in *waiveIn) (out view.Waived, err error) {
			c, err := a.findCursor(ctx, who, in.ID)
			if err != nil {
				return out, err
			}
			w, err := window.New(in.Body.From, in.Body.To)
			if err != nil {
				return out, fmt.Errorf("%w: %w", fault.ErrInvalid, err)
			}
			if in.Body.Partition != "" {
				return a.CursorActs.WaivePartition(ctx, c, in.Body.Partition, w, in.Body.act(who))
			}
			return a.CursorActs.Waive(ctx, in.ID, w, in.Body.act(who))
		}, waivedMark)
	actSeen(a, access.Operator, "accept-reading", "/v1/cursors/{id}/accept", "cursors", "Take the newest reading of a whole list, which is SHRUNK, for the list as it is now",
		func(ctx context.Context, who access.Caller, in *acceptIn) (out view.ReadingAccepted, err error) {
			if _, err := a.findCursor(ctx, who, in.ID); err != nil {
				return out, err
			}
			return a.CursorActs.Accept(ctx, in.ID, in.Body.act(who))
		}, acceptedMark)
}

// rejectsIn is which items a change is for.
type rejectsIn struct {
	Seen
	Body struct {
		Signed
		Source   string  `json:"source" minLength:"1" maxLength:"64"`
		Endpoint string  `json:"endpoint,omitempty" maxLength:"64"`
		IDs      []int64 `json:"ids,omitempty" maxItems:"1000" doc:"Only these; else all of the source that fit."`
		Because  string  `json:"because,omitempty" maxLength:"64" doc:"Only items that were refused for this reason."`
		Path     string  `json:"path,omitempty" maxLength:"512"`
	}
}

func (in *rejectsIn) signature() *Signed { return &in.Body.Signed }

// eventsIn is which events a change is for.
type eventsIn struct {
	Seen
	Body struct {
		Signed
		Source string  `json:"source,omitempty" maxLength:"64" doc:"All of this source that were given up."`
		IDs    []int64 `json:"ids,omitempty" maxItems:"1000"`
	}
}

func (in *eventsIn) signature() *Signed { return &in.Body.Signed }

func (a *api) registerItemActs() {
	choose := func(ctx context.Context, who access.Caller, in *rejectsIn) (ingest.RejectPick, error) {
		b := in.Body
		pick := ingest.RejectPick{IDs: b.IDs, Dataset: ingest.Dataset{Source: b.Source, Endpoint: b.Endpoint}, Reason: record.Reason(b.Because), Path: b.Path}
		if err := a.checkSource(ctx, who, b.Source); err != nil {
			return pick, err
		}
		for _, id := range b.IDs {
			if r, err := a.Quarantine.Show(ctx, id); err != nil || r.Source != b.Source {
				return pick, errUnseen("quarantine", id)
			}
		}
		return pick, nil
	}
	actSeen(a, access.Operator, "requeue-quarantine", "/v1/quarantine/requeue", "quarantine", "Put quarantined items of an endpoint back, and queue the plan that reads them again",
		func(ctx context.Context, who access.Caller, in *rejectsIn) (out view.Requeued, err error) {
			pick, err := choose(ctx, who, in)
			if err != nil {
				return out, err
			}
			return a.QuarantineActs.QueueRejects(ctx, pick, in.Body.act(who))
		}, requeuedMark)
	actSeen(a, access.Operator, "discard-quarantine", "/v1/quarantine/discard", "quarantine", "Discard quarantined items; that cannot be undone",
		func(ctx context.Context, who access.Caller, in *rejectsIn) (out ingest.RejectsDone, err error) {
			pick, err := choose(ctx, who, in)
			if err != nil {
				return out, err
			}
			return a.QuarantineActs.Discard(ctx, pick, in.Body.act(who))
		}, rejectsMark)
	chooseEvents := func(ctx context.Context, who access.Caller, in *eventsIn) (event.Pick, error) {
		pick := event.Pick{IDs: in.Body.IDs, Source: in.Body.Source}
		if len(pick.IDs) == 0 {
			return pick, a.checkSource(ctx, who, pick.Source)
		}
		for _, id := range pick.IDs {
			if e, err := a.Events.Show(ctx, id); err != nil || !who.Sees(e.Source) {
				return pick, errUnseen("event", id)
			}
		}
		return pick, nil
	}
	actSeen(a, access.Operator, "retry-events", "/v1/events/retry", "events", "Retry events that were given up",
		func(ctx context.Context, who access.Caller, in *eventsIn) (out event.Done, err error) {
			pick, err := chooseEvents(ctx, who, in)
			if err != nil {
				return out, err
			}
			return a.EventActs.Retry(ctx, pick, in.Body.act(who))
		}, eventsMark)
	actSeen(a, access.Operator, "discard-events", "/v1/events/discard", "events", "Give events up for good",
		func(ctx context.Context, who access.Caller, in *eventsIn) (out event.Done, err error) {
			pick, err := chooseEvents(ctx, who, in)
			if err != nil {
				return out, err
			}
			return a.EventActs.Discard(ctx, pick, in.Body.act(who))
		}, eventsMark)
	type releaseIn struct {
		Body struct {
			Signed
			Key string `json:"key" minLength:"1" maxLength:"256"`
		}
	}
	act(a, access.Operator, "release-rate", "/v1/rates/release", "rates", "Let the work that waits at a rate key go on now",
		func(ctx context.Context, who access.Caller, in *releaseIn) (out view.RateReleased, err error) {
			keys, err := a.Rates.RateKeys(ctx)
			if err != nil {
				return out, err
			}
			for _, k := range seenRates(who, keys) {
				if k.Key == in.Body.Key {
					return a.RateActs.ReleaseRate(ctx, k.Key, in.Body.act(who))
				}
			}
			return out, errUnseen("rate key", in.Body.Key)
		})
}

// ended is a silence that was ended, or had been.
type ended struct {
	alert.Silence
	Changed bool `json:"changed"`
}

func (a *api) registerAlertActs() {
	type silenceIn struct {
		Body struct {
			Signed
			Code     string    `json:"code,omitempty" maxLength:"64" doc:"Only findings of this code."`
			Source   string    `json:"source,omitempty" maxLength:"64"`
			Campaign string    `json:"campaign,omitempty" maxLength:"128"`
			Until    time.Time `json:"until"`
		}
	}
	act(a, access.Operator, "silence-alerts", "/v1/silences", "alerts", "Keep alerts from being told until an instant",
		func(ctx context.Context, who access.Caller, in *silenceIn) (out alert.Silence, err error) {
			b := in.Body
			if !who.SeesAll() && !who.Sees(b.Source) {
				return out, errUnseen("source", b.Source)
			}
			return a.AlertActs.Silence(ctx, alert.Silence{Code: view.FindingCode(b.Code), Source: b.Source, Campaign: b.Campaign, Until: b.Until}, b.act(who))
		})
	act(a, access.Operator, "end-silence", "/v1/silences/{id}/end", "alerts", "End a silence",
		func(ctx context.Context, who access.Caller, in *signedByID) (out ended, err error) {
			if !who.SeesAll() {
				return out, errLimited
			}
			out.Silence, out.Changed, err = a.AlertActs.Unsilence(ctx, in.ID, in.Body.act(who))
			return out, err
		})
}
