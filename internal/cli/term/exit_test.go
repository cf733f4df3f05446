package term

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/daemon"
)

func TestExitCode(t *testing.T) {
	wrapped := func(err error) error { return fmt.Errorf("while testing: %w", err) }
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, ExitOK},
		{errors.New("anything"), ExitFailure},
		{Usagef("bad"), ExitUsage},
		{registry.Problems{{Message: "bad"}}, ExitUsage},
		{fault.ErrInvalid, ExitUsage},
		{Partialf("some failed"), ExitPartial},
		{fault.New(fault.Unauthorized, nil), ExitAuth},
		{fault.ErrNotFound, ExitNotFound},
		{fault.ErrConflict, ExitConflict},
		{fault.ErrStale, ExitConflict},
		{fault.ErrNewerSchema, ExitConflict},
		{daemon.ErrBehind, ExitConflict},
		{daemon.ErrEmptyFile, ExitConflict},
		{fault.New(fault.RateLimited, nil), ExitUpstream},
		{fault.New(fault.BadRequest, nil), ExitUsage},
		{Findingsf("gaps"), ExitFindings},
		{Findingsf("gaps: %w", fault.ErrNotFound), ExitFindings}, // what the command decided counts
		{context.Canceled, ExitFailure},                          // nobody interrupted us
	} {
		for _, err := range []error{c.err, wrapped(c.err)} {
			if c.err == nil {
				err = nil
			}
			if got := ExitCode(context.Background(), err); got != c.want {
				t.Errorf("%v: %d, want %d", err, got, c.want)
			}
		}
	}
}

func TestExitCodeOfAnInterruption(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("signal")
	cancel(cause)
	for err, want := range map[error]int{context.Canceled: ExitInterrupted, cause: ExitInterrupted, fault.ErrNotFound: ExitNotFound} {
		if got := ExitCode(ctx, fmt.Errorf("stopped: %w", err)); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
