package cli

import (
	"errors"
	"fmt"

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
	return withCode(exitOf(fault.Code(f.Code)), &sameCause{s.Source, failure(f.Code, f.Error)})
}

// sameCause says that all slices of a run failed for one reason.
type sameCause struct{ source, reason string }

func (c *sameCause) Error() string {
	return fmt.Sprintf("nothing was covered, each time for the same reason: %s. What failed stays owed: `patra source test %s` sends one request and tells what comes back, `patra task list --source %s --status FAILED` lists the tasks",
		c.reason, c.source, c.source)
}
