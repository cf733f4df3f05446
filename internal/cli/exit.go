package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// reportError writes the error for people, or as JSON for programs, and gives the exit
// code.
func reportError(ctx context.Context, command *cobra.Command, err error, stderr io.Writer, asJSON bool) int {
	code := term.ExitCode(ctx, err)
	if err == nil {
		return code
	}
	text, hint := err.Error(), ""
	switch {
	case code == term.ExitInterrupted:
		text = "interrupted; what is committed stays, the next run continues"
	case isUsage(text):
		code, text = term.ExitUsage, plainConflict(text)
	}
	if code == term.ExitUsage && command != nil && !strings.Contains(text, "\n") && !isCause(err) {
		text += nearestCommand(command, text)
		hint = usageHint(command, text)
	}
	if asJSON {
		if hint == "" {
			hint = term.Printable(wording.Advice(err, text))
		}
		writeFailure(stderr, code, err, text, hint)
		return code
	}
	fmt.Fprintln(stderr, "patra: "+term.Printable(text))
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
	var same *work.SameCause
	var f *fault.Error
	return errors.As(err, &stopped) || errors.As(err, &same) || errors.As(err, &f)
}

// conflict is how the flag library begins to say that flags exclude each other.
const conflict = "if any flags in the group ["

// plainConflict says in plain words which flags exclude each other.
func plainConflict(text string) string {
	if group, found := strings.CutPrefix(text, conflict); found {
		group, _, _ = strings.Cut(group, "]")
		return "use only one of --" + strings.Join(strings.Fields(group), " and --")
	}
	return text
}

// isUsage recognises the complaints of the flag library, which have no type.
func isUsage(text string) bool {
	for _, start := range []string{"unknown command", "unknown flag", "unknown shorthand", "accepts ", "requires at least", "required flag", conflict} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}
