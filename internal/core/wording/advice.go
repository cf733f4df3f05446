package wording

import (
	"errors"
	"regexp"
	"strings"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// commandIn finds commands of ours in a message: between backticks, or at the end of a
// line.
var commandIn = regexp.MustCompile("`(patra [^`\n]+)`|(?m)(?:^|[:;] )\\s*(patra [a-z][^`\n;]*)$")

// Advised is an error that knows what to type next.
type Advised interface {
	error
	Advice() string
}

// Advice is what to type next, if an error or its message says so: programs get it as a
// field of its own. What is the first command of a message is what it advises first.
func Advice(err error, message string) string {
	var advised Advised
	var paused ingest.PausedError
	switch {
	case errors.As(err, &advised):
		return advised.Advice()
	case errors.As(err, &paused):
		return paused.Pause.Resuming()
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
	return strings.Join(next, "; then ")
}
