package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/trust"
)

// command gives messages to a program of this machine. That it may is said by patra.yaml,
// which belongs to the operator.
type command struct{ alert.Command }

// lastWords is how long a program that was stopped may keep its input open.
const lastWords = time.Second

// Send runs the program. What it prints is not repeated: it may hold a secret.
func (c command) Send(ctx context.Context, m alert.Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return errors.New("the message cannot be written as JSON")
	}
	run := exec.CommandContext(ctx, c.Run[0], c.Run[1:]...)
	run.WaitDelay, run.Env = lastWords, c.childEnvironment(m)
	run.Stdin = bytes.NewReader(append(body, '\n'))
	endWithChildren(run)
	err = run.Run()
	var failed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the program was stopped before it ended: %w", ctx.Err())
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the program %s is not there", c.Run[0])
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("the program %s may not be run", c.Run[0])
	case errors.As(err, &failed):
		return fmt.Errorf("the program ended with code %d", failed.ExitCode())
	case err != nil:
		return errors.New("the program could not be run to its end")
	}
	return nil
}

// childEnvironment returns what a program gets: a small part of ours, and what a short
// script wants to know without reading JSON.
func (c command) childEnvironment(m alert.Message) []string {
	out := []string{"PATRA_ALERT_ID=" + m.ID, "PATRA_ALERT_KIND=" + string(m.Kind), "PATRA_ALERT_SEVERITY=" + string(m.Severity), "PATRA_ALERT_TITLE=" + alert.Title(m)}
	for _, name := range append(trust.UsualEnvironment(), c.Environment...) {
		if value, set := os.LookupEnv(name); set {
			out = append(out, name+"="+value)
		}
	}
	return out
}
