package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

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
		{nil, exitOK},
		{errors.New("anything"), exitFailure},
		{usagef("bad"), exitUsage},
		{registry.Problems{{Message: "bad"}}, exitUsage},
		{fault.ErrInvalid, exitUsage},
		{partial("some failed"), exitPartial},
		{fault.New(fault.Unauthorized, nil), exitAuth},
		{fault.ErrNotFound, exitNotFound},
		{fault.ErrConflict, exitConflict},
		{fault.ErrStale, exitConflict},
		{fault.ErrNewerSchema, exitConflict},
		{daemon.ErrBehind, exitConflict},
		{fault.New(fault.RateLimited, nil), exitUpstream},
		{fault.New(fault.BadRequest, nil), exitUsage},
		{findings("gaps"), exitFindings},
		{findings("gaps: %w", fault.ErrNotFound), exitFindings}, // what the command decided counts
		{context.Canceled, exitFailure},                         // nobody interrupted us
	} {
		for _, err := range []error{c.err, wrapped(c.err)} {
			if c.err == nil {
				err = nil
			}
			if got := exitCode(context.Background(), err); got != c.want {
				t.Errorf("%v: %d, want %d", err, got, c.want)
			}
		}
	}
}

func TestExitCodeOfAnInterruption(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("signal")
	cancel(cause)
	for err, want := range map[error]int{context.Canceled: exitInterrupted, cause: exitInterrupted, fault.ErrNotFound: exitNotFound} {
		if got := exitCode(ctx, fmt.Errorf("stopped: %w", err)); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

func TestReport(t *testing.T) {
	command := &cobra.Command{Use: "patra"}
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, exitOK, ""},
		{errors.New("broken"), exitFailure, "patra: broken\n"},
		{usagef("bad flag"), exitUsage, "patra: bad flag\nSee `patra --help`.\n"},
		{usagef("2 problems:\na\nb"), exitUsage, "patra: 2 problems:\na\nb\n"},
		{errors.New("unknown command \"x\""), exitUsage, "patra: unknown command \"x\"\nSee `patra --help`.\n"},
		{errors.New("said \x1b[31mred\x07"), exitFailure, "patra: said \uFFFD[31mred\uFFFD\n"},
	} {
		var out bytes.Buffer
		if code := report(context.Background(), command, c.err, &out, false); code != c.code || out.String() != c.text {
			t.Errorf("%v: %d %q", c.err, code, out.String())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	if code := report(ctx, command, ctx.Err(), &out, false); code != exitInterrupted || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("%d %q", code, out.String())
	}
}

// The flag library's complaints have no type; every one of them is a usage error.
func TestUsageErrors(t *testing.T) {
	d := newDesk(t)
	for _, args := range [][]string{
		{"nonsense"}, {"task", "list", "--nonsense"}, {"task", "list", "-x"}, {"task", "show"}, {"task", "show", "1", "2"}, {"source", "validate"},
		{"cursor", "list", "a", "b"}, {"task", "list", "extra"}, {"task", "list", "--limit"}, {"task", "list", "--limit", "many"},
		{"task", "list", "-o", "yaml"},
	} {
		if r := d.expect(exitUsage, args...); r.out != "" || !strings.HasPrefix(r.err, "patra: ") {
			t.Errorf("%v: %q %q", args, r.out, r.err)
		}
	}
	d.noFile()
	d.holds(d.expect(exitUsage, "data", "list").err, "Usage: patra data list SRC", "See `patra data list --help`.")
	var out bytes.Buffer
	if code := Main(context.Background(), []string{"task", "list", "--db", d.file}, &out, &out); code != exitUsage || !strings.Contains(out.String(), "write sqlite:") {
		t.Errorf("a database without its kind: %d %s", code, out.String())
	}
}
