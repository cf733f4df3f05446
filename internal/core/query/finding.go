package query

import (
	"fmt"
	"strings"
)

// Finding is one thing that is wrong (E-) or doubtful (W-) about an expression.
type Finding struct {
	Code    string // such as E-OP-NOT-ALLOWED
	Path    string // where in the tree, as the JSON form names it; empty is the root
	Field   string
	Message string
}

// IsError reports whether the finding stops a run.
func (f Finding) IsError() bool { return strings.HasPrefix(f.Code, "E-") }

func (f Finding) String() string {
	if f.Path == "" {
		return f.Code + ": " + f.Message
	}
	return f.Code + " at " + f.Path + ": " + f.Message
}

// Mode says how a check treats what could be left out.
type Mode bool

// Modes. Runs are strict: a condition that is left out changes what is
// selected. Lenient shows a person as much as can be shown.
const (
	Lenient Mode = false
	Strict  Mode = true
)

// report collects findings.
type report struct{ findings []Finding }

func (r *report) addFinding(code, path, field, format string, args ...any) {
	r.findings = append(r.findings, Finding{code, path, field, fmt.Sprintf(format, args...)})
}

// byMode adds an error in a strict run and a warning otherwise.
func (r *report) byMode(mode Mode, code, path, field, format string, args ...any) {
	prefix := "W-"
	if mode == Strict {
		prefix = "E-"
	}
	r.addFinding(prefix+code, path, field, format, args...)
}

func (r *report) hasErrors() bool {
	for _, f := range r.findings {
		if f.IsError() {
			return true
		}
	}
	return false
}
