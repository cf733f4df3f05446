package tmpl

import (
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/spelling"
)

// FunctionError says why a template may not call a function.
type FunctionError struct {
	Name string
	Err  error
}

func (e *FunctionError) Error() string { return e.Err.Error() }

func (e *FunctionError) Unwrap() error { return e.Err }

const closedList = "the list is closed"

// unknownName says that a name does not exist, with what may have been meant.
func unknownName(what, name string, valid []string, note string) error {
	if near := spelling.Nearest(name, valid); near != "" {
		return fmt.Errorf("unknown %s %s: did you mean %s? (%s)", what, name, near, note)
	}
	return fmt.Errorf("unknown %s %s: %s: %s", what, name, note, strings.Join(valid, ", "))
}
