package export

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// conflict is a fault.ErrConflict that says what it is about in its own words: what
// stands in the way of an export is a file or a cursor, not a row.
type conflict string

func (c conflict) Error() string { return string(c) }
func (c conflict) Unwrap() error { return fault.ErrConflict }

// Conflict returns an error of the kind fault.ErrConflict.
func Conflict(format string, args ...any) error { return conflict(fmt.Sprintf(format, args...)) }
