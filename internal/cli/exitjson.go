package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

// kinds names the exit codes for programs that read JSON.
var kinds = map[int]string{
	term.ExitFailure: "FAILURE", term.ExitUsage: "USAGE", term.ExitPartial: "PARTIAL", term.ExitAuth: "CREDENTIALS", term.ExitNotFound: "NOT_FOUND", term.ExitConflict: "CONFLICT",
	term.ExitUpstream: "UPSTREAM", term.ExitChanges: "CHANGES", term.ExitFindings: "FINDINGS", term.ExitInterrupted: "INTERRUPTED",
}

// failed is an error as programs get it: the last line of stderr with -o json.
type failed struct {
	ExitCode int    `json:"exitCode"`
	Kind     string `json:"kind"`
	Code     string `json:"code,omitempty"` // of the fault, where an upstream or the store said no
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"` // what to type next
	// Problems are those of source files, each with its place.
	Problems []fileProblem `json:"problems,omitempty"`
}

type fileProblem struct {
	File string `json:"file,omitempty"`
	view.FileProblem
}

// writeFailure writes an error on one line, so that whatever stood on stderr before
// it (hints, the log) is told apart by lines.
func writeFailure(stderr io.Writer, code int, err error, message, hint string) {
	out := failed{ExitCode: code, Kind: kinds[code], Message: term.Printable(message), Hint: hint}
	var f *fault.Error
	if errors.As(err, &f) {
		out.Code = string(f.Code)
	}
	var problems registry.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			shown := view.NewFileProblem(p)
			shown.Message, shown.Hint = term.Printable(p.Message), term.Printable(p.Hint)
			out.Problems = append(out.Problems, fileProblem{p.File, shown})
		}
	}
	encoder := json.NewEncoder(stderr)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(struct {
		Error failed `json:"error"`
	}{out}) != nil {
		fmt.Fprintln(stderr, "patra: "+term.Printable(message)) // a writer that refuses JSON may take a text
	}
}

// wantsJSON reports whether -o json is among the arguments. It looks at their text:
// arguments that cannot be understood have no flags yet, and their error is JSON too.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	wants := false
	for i, arg := range args {
		switch {
		case arg == "-o" || arg == "--output":
			wants = i+1 < len(args) && args[i+1] == "json"
		case strings.HasPrefix(arg, "--output="):
			wants = arg == "--output=json"
		case strings.HasPrefix(arg, "-o") && !strings.HasPrefix(arg, "--"):
			wants = strings.TrimPrefix(strings.TrimPrefix(arg, "-o"), "=") == "json"
		}
	}
	return wants
}
