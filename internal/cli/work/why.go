package work

import (
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
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
	var limit *daemon.LimitError
	if errors.As(err, &limit) {
		return &stopView{fault.RequestLimit, limit.Error(), limit.Next()}
	}
	var stopped *daemon.StoppedError
	if !errors.As(err, &stopped) {
		return nil
	}
	return &stopView{stopped.Code, stopped.Cause, stopped.Next}
}

// whyFacts are the rows of a summary that tell why slices are not covered: each reason with
// how often it came and one example.
func (s Summary) whyFacts() (out []term.Fact) {
	name := "why"
	for _, f := range s.Failures {
		out = append(out, term.Fact{name, term.Wrap(fmt.Sprintf("%s %s: %s", wording.Count(f.Slices, "slice"), f.Became(), wording.FailureText(f.Code, f.Error)))})
		name = ""
	}
	return out
}

// onlyCause is the verdict on a run that covered nothing, for one reason: the code of
// that, and not the one of a harvest that went half well.
func (s Summary) onlyCause(f view.Failure) error {
	return term.WithCode(term.ExitCodeOfCause(fault.Code(f.Code)), &SameCause{s.Source, wording.FailureText(f.Code, f.Error)})
}

// SameCause says that all slices of a run failed for one reason.
type SameCause struct{ source, reason string }

func (c *SameCause) Error() string {
	return fmt.Sprintf("nothing was covered, each time for the same reason: %s. What failed stays owed: `patra source test %s` sends one request and tells what comes back, `patra task list --source %s --status FAILED` lists the tasks",
		c.reason, c.source, c.source)
}
