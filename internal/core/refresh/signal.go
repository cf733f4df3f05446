package refresh

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is why a record was named.
type Kind string

// Kinds of signals. The first three are said by people and programs downstream;
// the others are made by the commands that name records themselves, and by an
// update that did not get a record.
const (
	Retraction   Kind = "RETRACTION"
	Merge        Kind = "MERGE"
	MissingField Kind = "MISSING_FIELD"
	Requested    Kind = "REQUESTED"   // ids given to an update
	Quarantined  Kind = "QUARANTINED" // an item of it could not be read
	Missing      Kind = "MISSING"     // it was asked for and did not come: it is to be looked at again
)

// Kinds returns those that may be said.
func Kinds() []Kind { return []Kind{Retraction, Merge, MissingField} }

// ParseKind reads a kind that may be said.
func ParseKind(text string) (Kind, error) {
	if k := Kind(strings.ToUpper(text)); slices.Contains(Kinds(), k) {
		return k, nil
	}
	return "", fmt.Errorf("unknown kind of signal %q: use RETRACTION, MERGE or MISSING_FIELD", text)
}

// SignalStatus is what became of a signal.
type SignalStatus string

// States of a signal.
const (
	Open   SignalStatus = "OPEN"
	Done   SignalStatus = "DONE"   // the upstream was asked after it was raised, and its answer is stored
	Failed SignalStatus = "FAILED" // the answer could not be read; it is in quarantine
	// NotFound: the upstream does not have it, and it was never stored.
	NotFound SignalStatus = "NOT_FOUND"
)
