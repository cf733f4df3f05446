package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/visible"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Exit codes; docs and help list the same ones.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitPartial     = 3
	exitAuth        = 4
	exitNotFound    = 5
	exitConflict    = 6
	exitUpstream    = 7
	exitChanges     = 8
	exitFindings    = 9
	exitInterrupted = 130
)

// coded is an error that knows its exit code.
type coded struct {
	code int
	err  error
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

// withCode returns an error that ends the program with this exit code.
func withCode(code int, err error) error { return &coded{code, err} }

func usage(err error) error                   { return withCode(exitUsage, err) }
func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }
func findings(format string, args ...any) error {
	return withCode(exitFindings, fmt.Errorf(format, args...))
}
func changes(format string, args ...any) error {
	return withCode(exitChanges, fmt.Errorf(format, args...))
}
func notFound(format string, args ...any) error {
	return withCode(exitNotFound, fmt.Errorf(format, args...))
}
func partial(format string, args ...any) error {
	return withCode(exitPartial, fmt.Errorf(format, args...))
}

// exitCode is the only place that turns an error into a code.
func exitCode(ctx context.Context, err error) int {
	var known *coded
	var problems registry.Problems
	var stopped *daemon.StoppedError
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		return exitInterrupted
	case errors.As(err, &known):
		return known.code
	case daemon.IsUntrusted(err):
		return exitAuth
	case errors.As(err, &stopped):
		return exitOf(stopped.Code)
	case errors.As(err, &problems), errors.Is(err, fault.ErrInvalid):
		return exitUsage
	case errors.Is(err, fault.ErrNotFound):
		return exitNotFound
	case errors.Is(err, fault.ErrConflict), errors.Is(err, fault.ErrStale), errors.Is(err, fault.ErrNewerSchema), errors.Is(err, daemon.ErrBehind):
		return exitConflict
	}
	var f *fault.Error
	if errors.As(err, &f) {
		switch {
		case f.Code.Remedy() == fault.MendFile: // as a harvest that ends for it
			return exitUsage
		case f.Level == fault.Fatal:
			return exitAuth
		case f.Level == fault.Transient:
			return exitUpstream
		}
	}
	return exitFailure
}

// exitOf is the code of a run that ended for one cause: no slice fared better.
func exitOf(cause fault.Code) int {
	switch cause.Remedy() {
	case fault.MendFile:
		return exitUsage
	case fault.MendKey:
		return exitAuth
	case fault.TryLater:
		return exitUpstream
	}
	return exitConflict
}

// report writes the error for people, or as JSON for programs, and gives the exit
// code.
func report(ctx context.Context, command *cobra.Command, err error, stderr io.Writer, asJSON bool) int {
	code := exitCode(ctx, err)
	if err == nil {
		return code
	}
	text, hint := err.Error(), ""
	switch {
	case code == exitInterrupted:
		text = "interrupted; what is committed stays, the next run continues"
	case isUsage(text):
		code = exitUsage
	}
	if code == exitUsage && command != nil && !strings.Contains(text, "\n") && !isCause(err) {
		text += nearestCommand(command, text)
		hint = usageHint(command, text)
	}
	if asJSON {
		if hint == "" {
			hint = adviceIn(err, text)
		}
		writeFailure(stderr, code, err, text, hint)
		return code
	}
	fmt.Fprintln(stderr, "patra: "+printable(text))
	if hint != "" {
		fmt.Fprintln(stderr, hint)
	}
	return code
}

// usageHint says where a command is explained; which arguments it takes, the library
// does not say.
func usageHint(command *cobra.Command, text string) string {
	hint := fmt.Sprintf("See `%s --help`.", command.CommandPath())
	if strings.HasPrefix(text, "accepts ") || strings.HasPrefix(text, "requires ") {
		hint = fmt.Sprintf("Usage: %s\n%s", command.UseLine(), hint)
	}
	return hint
}

// isCause reports that a command was right and what it worked on was not: help on its
// flags would mislead.
func isCause(err error) bool {
	var stopped *daemon.StoppedError
	var same *sameCause
	var f *fault.Error
	return errors.As(err, &stopped) || errors.As(err, &same) || errors.As(err, &f)
}

// isUsage recognises the complaints of the flag library, which have no type.
func isUsage(text string) bool {
	for _, start := range []string{"unknown command", "unknown flag", "unknown shorthand", "accepts ", "requires at least", "required flag"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// printable keeps an upstream's text from steering the terminal (A39): neither by
// control characters, nor by those that turn the direction of what stands beside
// them, so that a row reads as something else than it is, nor by those nobody sees.
func printable(text string) string { return visible.Text(text) }

func parseStretch(text string) (time.Duration, error) {
	d, err := duration.Parse(text)
	return d.Std(), err
}
