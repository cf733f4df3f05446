package httpapi

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Seen is what a caller looked at before it acts (R11).
type Seen struct {
	Match string `header:"If-Match" maxLength:"128" doc:"ETag of the dry run that you looked at: it is done only if it would still do the same; else nothing is done, and the answer has what it would do now."`
}

func (s *Seen) seen() string { return s.Match }

// foreseen is a change that a dry run tells of first.
type foreseen interface {
	seen() string
	signature() *Signed
}

// seenError: what a change would do is not what the caller saw.
type seenError struct{ now any }

func (e seenError) Error() string {
	return fmt.Sprintf("nothing was done: %v, so that it would do something else than the dry run told", errChanged)
}

// Unwrap makes it what was changed meanwhile.
func (e seenError) Unwrap() error { return errChanged }

// actSeen adds a route that changes something and may be told what its caller saw. The answer to a
// dry run has an ETag, made by markOf of what would be done and of nothing beside it, such as the
// time. With If-Match the change is rehearsed once more, and done if it is still the same. The
// pages do so with the mark in their forms.
func actSeen[I, O any, P interface {
	*I
	foreseen
}](a *api, role access.Role, id, path, tag, summary string, do func(context.Context, access.Caller, *I) (O, error), markOf func(O) any) {
	answerMarked(a, newAct(role, id, path, tag, summary), func(ctx context.Context, who access.Caller, in *I) (out O, mark string, err error) {
		rehearse := func() (string, error) {
			if out, err = do(ctx, who, in); err != nil {
				return "", err
			}
			mark, err := fingerprint.Of(markOf(out))
			return `"` + mark + `"`, err
		}
		by := P(in).signature()
		if by.DryRun {
			mark, err = rehearse()
			return out, mark, err
		}
		if saw := P(in).seen(); saw != "" {
			by.DryRun = true
			now, err := rehearse()
			if err != nil {
				return out, "", err
			}
			if saw != now {
				return out, "", seenError{out}
			}
			by.DryRun = false
		}
		out, err = do(ctx, who, in)
		return out, "", err
	})
}

// What changes would do, without what is no part of it.
func tasksMark(d view.TasksDone) any { return d.TasksDone }
func planMark(d view.PlanCancel) any { return d }
func waivedMark(d view.Waived) any   { return []any{d.Waived, d.Before, d.After} }
func acceptedMark(d view.ReadingAccepted) any {
	return []any{d.ID, d.Items, d.LastKept, waivedMark(d.Waived)}
}
func requeuedMark(d view.Requeued) any     { return d.RejectsDone }
func rejectsMark(d ingest.RejectsDone) any { return d }
func eventsMark(d event.Done) any          { return []int{d.Changed, d.Unchanged} }
