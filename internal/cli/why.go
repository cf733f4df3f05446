package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// stopView is why a run ended before all slices were tried, for programs.
type stopView struct {
	Code  fault.Code `json:"code"`
	Cause string     `json:"cause"`
	Next  string     `json:"next"`
}

// stopOf is the stop that an error tells of, if it does.
func stopOf(err error) *stopView {
	var stopped *daemon.StoppedError
	if !errors.As(err, &stopped) {
		return nil
	}
	return &stopView{stopped.Code, stopped.Cause, stopped.Next}
}

// failuresOf is why slices of plans are not covered. What cannot be read is left out:
// the summary must not fail for it.
func failuresOf(ctx context.Context, app *daemon.App, plans []int64) (out []view.Failure) {
	for _, id := range plans {
		found, err := app.Store.Failures(ctx, id)
		if err != nil {
			return out
		}
		for _, f := range found {
			same := slices.IndexFunc(out, func(o view.Failure) bool { return o.Code == f.Code && o.Status == f.Status })
			if same < 0 {
				out = append(out, f)
				continue
			}
			out[same].Slices += f.Slices
		}
	}
	slices.SortStableFunc(out, func(a, b view.Failure) int { return b.Slices - a.Slices })
	return out
}

// withoutEarlier leaves out what failed before this run and has ended: the run that met
// it has told of it, and it may be mended. What is still to be tried stays.
func withoutEarlier(now, earlier []view.Failure) (out []view.Failure) {
	for _, f := range now {
		for _, e := range earlier {
			if f.Code == e.Code && f.Status == e.Status && ingest.TaskStatus(f.Status).Terminal() {
				f.Slices -= e.Slices
			}
		}
		if f.Slices > 0 {
			out = append(out, f)
		}
	}
	return out
}

// why are the rows of a summary that tell why slices are not covered: each reason with
// how often it came and one example.
func (s summary) why() (out []fact) {
	name := "why"
	for _, f := range s.Failures {
		out = append(out, fact{name, wrapped(fmt.Sprintf("%s %s: %s", counted(f.Slices, "slice"), f.Became(), failure(f.Code, f.Error)))})
		name = ""
	}
	return out
}

// onlyCause is the verdict on a run that covered nothing, for one reason: the code of
// that, and not the one of a harvest that went half well.
func (s summary) onlyCause(f view.Failure) error {
	return &coded{exitOf(fault.Code(f.Code)), &sameCause{s.Source, failure(f.Code, f.Error)}}
}

// sameCause says that all slices of a run failed for one reason.
type sameCause struct{ source, reason string }

func (c *sameCause) Error() string {
	return fmt.Sprintf("nothing was covered, each time for the same reason: %s. What failed stays owed: `patra source test %s` sends one request and tells what comes back, `patra task list --source %s --status FAILED` lists the tasks",
		c.reason, c.source, c.source)
}
