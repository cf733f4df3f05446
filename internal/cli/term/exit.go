package term

import (
	"context"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/visible"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Exit codes; docs and help list the same ones.
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitPartial     = 3
	ExitAuth        = 4
	ExitNotFound    = 5
	ExitConflict    = 6
	ExitUpstream    = 7
	ExitChanges     = 8
	ExitFindings    = 9
	ExitInterrupted = 130
)

// Coded is an error that knows its exit code.
type Coded struct {
	code int
	err  error
}

func (c *Coded) Error() string { return c.err.Error() }

func (c *Coded) Unwrap() error { return c.err }

// WithCode returns an error that ends the program with this exit code.
func WithCode(code int, err error) error { return &Coded{code, err} }

func Usage(err error) error { return WithCode(ExitUsage, err) }

func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

func Findingsf(format string, args ...any) error {
	return WithCode(ExitFindings, fmt.Errorf(format, args...))
}

func Changesf(format string, args ...any) error {
	return WithCode(ExitChanges, fmt.Errorf(format, args...))
}

func NotFoundf(format string, args ...any) error {
	return WithCode(ExitNotFound, fmt.Errorf(format, args...))
}

func Partialf(format string, args ...any) error {
	return WithCode(ExitPartial, fmt.Errorf(format, args...))
}

// ExitCode is the only place that turns an error into a code.
func ExitCode(ctx context.Context, err error) int {
	var known *Coded
	var problems registry.Problems
	var stopped *daemon.StoppedError
	switch {
	case err == nil:
		return ExitOK
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		return ExitInterrupted
	case errors.As(err, &known):
		return known.code
	case daemon.IsUntrusted(err):
		return ExitAuth
	case errors.As(err, new(*daemon.LimitError)):
		return ExitPartial
	case errors.As(err, &stopped):
		return ExitCodeOfCause(stopped.Code)
	case errors.As(err, &problems), errors.Is(err, fault.ErrInvalid):
		return ExitUsage
	case errors.Is(err, fault.ErrNotFound):
		return ExitNotFound
	case errors.Is(err, fault.ErrConflict), errors.Is(err, fault.ErrStale), errors.Is(err, fault.ErrNewerSchema), errors.Is(err, daemon.ErrBehind), errors.Is(err, daemon.ErrEmptyFile):
		return ExitConflict
	}
	var f *fault.Error
	if errors.As(err, &f) {
		switch {
		case f.Code.Remedy() == fault.FixFile: // as a harvest that ends for it
			return ExitUsage
		case f.Level == fault.Fatal:
			return ExitAuth
		case f.Level == fault.Transient:
			return ExitUpstream
		}
	}
	return ExitFailure
}

// ExitCodeOfCause is the code of a run that ended for one cause: no slice fared better.
func ExitCodeOfCause(cause fault.Code) int {
	switch cause.Remedy() {
	case fault.FixFile:
		return ExitUsage
	case fault.FixKey:
		return ExitAuth
	case fault.TryLater:
		return ExitUpstream
	}
	return ExitConflict
}

// Printable keeps an upstream's text from steering the terminal (A39): neither by
// control characters, nor by those that turn the direction of what stands beside
// them, so that a row reads as something else than it is, nor by those nobody sees.
func Printable(text string) string { return visible.Text(text) }
