package operate

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// desk is a store that notes what it was asked for.
type desk struct {
	paused []ingest.Pause
	counts map[ingest.TaskStatus]int
	chunks []ingest.TasksDone // what each call does
	calls  int
	by     ingest.Act
}

func (d *desk) PauseSource(_ context.Context, s ingest.Scope, by ingest.Act) (ingest.Pause, bool, error) {
	d.by = by
	return ingest.Pause{Scope: s, Actor: by.Actor, Reason: by.Reason}, true, nil
}

func (d *desk) ResumeSource(_ context.Context, s ingest.Scope, by ingest.Act) (ingest.Pause, bool, error) {
	d.by = by
	for _, p := range d.paused {
		if p.Scope == s {
			return p, true, nil
		}
	}
	return ingest.Pause{}, false, nil
}

func (d *desk) Pauses(context.Context, string) ([]ingest.Pause, error) { return d.paused, nil }

func (d *desk) CountTasks(_ context.Context, _ ingest.TaskPick, statuses ...ingest.TaskStatus) (map[ingest.TaskStatus]int, error) {
	out := map[ingest.TaskStatus]int{}
	for _, s := range statuses {
		out[s] = d.counts[s]
	}
	return out, nil
}

func (d *desk) CancelTasks(_ context.Context, _ ingest.TaskPick, by ingest.Act) (ingest.TasksDone, bool, error) {
	d.by = by
	d.calls++
	return d.chunks[d.calls-1], d.calls < len(d.chunks), nil
}

func (d *desk) RetryTasks(ctx context.Context, p ingest.TaskPick, by ingest.Act) (ingest.TasksDone, bool, error) {
	return d.CancelTasks(ctx, p, by)
}

var (
	me       = ingest.Act{Actor: "me", Reason: "why"}
	crossref = ingest.Scope{Source: "crossref"}
	works    = ingest.Scope{Source: "crossref", Endpoint: "works"}
	daily    = ingest.Scope{Source: "crossref", Endpoint: "works", Operation: ingest.Harvest}
	stock    = map[ingest.TaskStatus]int{ingest.TaskScheduled: 1, ingest.TaskQueued: 2, ingest.TaskDispatched: 4, ingest.TaskExecuting: 8, ingest.TaskFailed: 16}
)

func TestPause(t *testing.T) {
	d := &desk{counts: stock}
	done, err := New(d).Pause(t.Context(), works, ingest.Act{Reason: "why"})
	if err != nil || !done.Changed || done.Running != 12 || done.Waiting != 3 || done.DryRun || d.by.Actor != "unknown" {
		t.Errorf("%+v, by %+v, %v", done, d.by, err)
	}
	if done, err := New(d).Pause(t.Context(), works, ingest.Act{Actor: "me", Reason: "why", Rehearsal: true}); err != nil || !done.DryRun || !d.by.Rehearsal {
		t.Errorf("%+v, by %+v, %v", done, d.by, err)
	}
	if _, err := New(d).Pause(t.Context(), works, ingest.Act{Actor: "me"}); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("without a reason: %v", err)
	}
}

func TestResume(t *testing.T) {
	for _, c := range []struct {
		name    string
		paused  []ingest.Scope
		scope   ingest.Scope
		changed bool
		still   []ingest.Scope
		refused bool
	}{
		{"just this", []ingest.Scope{works}, works, true, nil, false},
		{"not paused", nil, works, false, nil, false},
		{"another endpoint", []ingest.Scope{{Source: "crossref", Endpoint: "journals"}}, works, false, nil, false},
		{"wider and not itself", []ingest.Scope{crossref}, works, false, []ingest.Scope{crossref}, true},
		{"wider and itself", []ingest.Scope{crossref, works}, works, true, []ingest.Scope{crossref}, false},
		{"a part of it", []ingest.Scope{daily}, works, false, []ingest.Scope{daily}, false},
		{"itself and a part of it", []ingest.Scope{works, daily}, works, true, []ingest.Scope{daily}, false},
	} {
		d := &desk{counts: stock}
		for _, s := range c.paused {
			d.paused = append(d.paused, ingest.Pause{Scope: s, Actor: "who"})
		}
		done, err := New(d).Resume(t.Context(), c.scope, me)
		if errors.Is(err, fault.ErrConflict) != c.refused || !c.refused && (err != nil || done.Waiting != 3) {
			t.Errorf("%s: %v", c.name, err)
		}
		var still []ingest.Scope
		for _, p := range done.Still {
			still = append(still, p.Scope)
		}
		if done.Changed != c.changed || (done.Was != nil) != c.changed || !reflect.DeepEqual(still, c.still) {
			t.Errorf("%s: changed %v, was %v, still %v", c.name, done.Changed, done.Was, still)
		}
	}
	if _, err := New(&desk{}).Resume(t.Context(), works, ingest.Act{Actor: "me"}); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("without a reason: %v", err)
	}
}

func TestChunksAddUp(t *testing.T) {
	d := &desk{chunks: []ingest.TasksDone{{Cancelled: 3}, {Cancelled: 2, Stopping: 1}, {Unchanged: 1}}}
	done, err := New(d).Cancel(t.Context(), ingest.TaskPick{PlanID: 1}, me)
	if want := (ingest.TasksDone{Cancelled: 5, Stopping: 1, Unchanged: 1}); err != nil || done.TasksDone != want || d.calls != 3 || d.by != me {
		t.Errorf("%+v after %d calls, %v", done, d.calls, err)
	}
}

func TestRehearsals(t *testing.T) {
	rehearsal := ingest.Act{Actor: "me", Rehearsal: true}
	d := &desk{counts: stock, chunks: []ingest.TasksDone{{Cancelled: 1}}}
	done, err := New(d).Cancel(t.Context(), ingest.TaskPick{Scope: crossref}, rehearsal)
	if want := (ingest.TasksDone{Cancelled: 3, Stopping: 12}); err != nil || done.TasksDone != want || !done.DryRun || d.calls != 0 {
		t.Errorf("cancel: %+v after %d calls, %v", done, d.calls, err)
	}
	done, err = New(d).Retry(t.Context(), ingest.TaskPick{Scope: crossref, Status: ingest.TaskFailed}, rehearsal)
	if want := (ingest.TasksDone{Queued: 16}); err != nil || done.TasksDone != want || d.calls != 0 {
		t.Errorf("retry: %+v after %d calls, %v", done, d.calls, err)
	}
	// Named tasks are asked about one by one: the store may refuse some.
	if done, err := New(d).Cancel(t.Context(), ingest.TaskPick{IDs: []int64{1}}, rehearsal); err != nil || done.Cancelled != 1 || !d.by.Rehearsal {
		t.Errorf("named: %+v, by %+v, %v", done, d.by, err)
	}
}

func TestRefusesWhatNobodyCanMean(t *testing.T) {
	d := &desk{}
	many := make([]int64, 501)
	for name, pick := range map[string]ingest.TaskPick{"nothing": {}, "too many": {IDs: many}, "an endpoint of no source": {Scope: ingest.Scope{Endpoint: "works"}}} {
		if _, err := New(d).Cancel(t.Context(), pick, me); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, status := range []ingest.TaskStatus{"", ingest.TaskSucceeded, ingest.TaskPartial, ingest.TaskQueued} {
		if _, err := New(d).Retry(t.Context(), ingest.TaskPick{PlanID: 1, Status: status}, me); !errors.Is(err, fault.ErrInvalid) {
			t.Errorf("retry of %q: %v", status, err)
		}
	}
	if d.calls != 0 {
		t.Errorf("the store was asked %d times", d.calls)
	}
}
