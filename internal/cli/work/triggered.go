package work

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

// caller is what an outside scheduler says about itself.
type caller struct{ requestID, jobID, logID string }

func (r *Request) addCallerFlags(c *cobra.Command) {
	c.Flags().StringVar(&r.caller.jobID, "job-id", "", "job of the external scheduler that runs this command; kept with the trigger")
	c.Flags().StringVar(&r.caller.logID, "log-id", "", "run of that job; kept with the trigger")
}

// longestID is what the columns of ids of other programs hold.
const longestID = 64

func (c caller) check() error {
	for name, id := range map[string]string{"request-id": c.requestID, "job-id": c.jobID, "log-id": c.logID} {
		if len([]rune(id)) > longestID {
			return term.Usagef("--%s has %d characters: %d at most", name, len([]rune(id)), longestID)
		}
	}
	return nil
}

// planned is a plan as `patra plan` gives it to programs.
type planned struct {
	*daemon.PlanDraft
	PlanID int64 `json:"planId,omitempty"` // 0: nothing was stored
}

// repeated is the answer to a request that has its plan already.
type repeated struct {
	Source    string           `json:"source"`
	Endpoint  string           `json:"endpoint"`
	Operation ingest.Operation `json:"operation"`
	RequestID string           `json:"requestId"`
	PlanID    int64            `json:"planId"`
	Status    string           `json:"status"`
	Repeated  bool             `json:"repeated"`
}

// findRepeated tells of the plan that a request has already; false: it has none yet.
func findRepeated(ctx context.Context, e *term.Env, code string, r *Request) (found bool, err error) {
	if r.caller.requestID == "" || r.dry {
		return false, nil
	}
	app, err := e.OpenToRead(ctx)
	if err != nil {
		if daemon.IsMissing(err) {
			err = nil // planning makes it
		}
		return false, err
	}
	defer app.Close()
	asked, of, err := r.triggerOf(ctx, app, code)
	if err != nil {
		return false, err
	}
	before, known, err := app.FindRequested(ctx, of, asked)
	if err != nil || !known {
		return false, err
	}
	return true, showRepeated(e, of, before, r.caller.requestID)
}

func showRepeated(e *term.Env, of ingest.Partition, t view.TriggerRow, id string) error {
	if e.Output == "json" {
		return e.JSON(repeated{of.Source, of.Endpoint, of.Operation, id, t.PlanID, t.PlanStatus, true})
	}
	_, err := fmt.Fprintf(e.Out, "request %s was planned before, as plan %d (%s): nothing was planned again\n", id, t.PlanID, t.PlanStatus)
	return err
}

// triggerOf returns the trigger that the flags make, and what it is for.
func (r *Request) triggerOf(ctx context.Context, app *daemon.App, code string) (asked daemon.PlanRequest, of ingest.Partition, err error) {
	p, err := r.parseAt(ctx, app)
	if err != nil {
		return asked, of, err
	}
	if of, err = app.PartitionOf(ctx, code, r.endpoint, p.operation); err != nil {
		return asked, of, err
	}
	return r.nameRequest(r.planRequest(p), of), of, nil
}

// nameRequest gives a request the name of --request-id.
func (r *Request) nameRequest(asked daemon.PlanRequest, of ingest.Partition) daemon.PlanRequest {
	if r.caller.requestID == "" {
		return asked
	}
	return daemon.NameRequest(asked, of, r.caller.requestID)
}

// noteRefused keeps that somebody asked and was refused, where there is a database to keep
// it in, and gives the refusal back. Bad flags and unknown sources are no triggers. That it
// could not be kept is only a hint: the refusal is what the caller has to know.
func (r *Request) noteRefused(ctx context.Context, e *term.Env, app *daemon.App, code string, refused error) error {
	if refused == nil || r.dry || !daemon.IsRefusal(refused) {
		return refused
	}
	if app == nil {
		var err error
		if app, err = e.OpenToRead(ctx); err != nil {
			return refused
		}
		defer app.Close()
	}
	asked, of, err := r.triggerOf(ctx, app, code)
	if err != nil {
		return refused
	}
	if err := app.NoteRefused(ctx, of, asked, refused); err != nil {
		e.Hint("this refusal could not be recorded: %v", err)
	}
	return refused
}
