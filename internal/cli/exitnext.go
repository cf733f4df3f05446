package cli

import (
	"errors"
	"regexp"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/daemon"
)

// commandIn finds commands of ours in a message: between backticks, or at the end of a
// line.
var commandIn = regexp.MustCompile("`(patra [^`\n]+)`|(?m)(?:^|[:;] )\\s*(patra [a-z][^`\n;]*)$")

// adviceIn is what to type next, if a message says so: programs get it as a field of its
// own. What is the first command of a message is what it advises first.
func adviceIn(err error, message string) string {
	var stopped *daemon.StoppedError
	var paused ingest.PausedError
	switch {
	case errors.As(err, &stopped):
		return term.Printable(stopped.Next)
	case errors.As(err, &paused):
		return term.Printable(paused.Pause.Resuming())
	}
	var next []string
	for line := range strings.SplitSeq(message, "\n") {
		if step, is := strings.CutPrefix(strings.TrimSpace(line), "next: "); is {
			next = append(next, step)
		}
	}
	if len(next) == 0 {
		if found := commandIn.FindStringSubmatch(message); found != nil {
			next = append(next, found[1]+found[2])
		}
	}
	return term.Printable(strings.Join(next, "; then "))
}
