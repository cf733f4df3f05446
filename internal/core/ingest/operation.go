package ingest

import (
	"fmt"
	"slices"
)

// Operation is what a plan is for.
type Operation string

// The operations of §6. METRICS is known to the dictionary and not planned.
const (
	Harvest  Operation = "HARVEST"
	Backfill Operation = "BACKFILL"
	Update   Operation = "UPDATE"
)

// operations are the known ones in order of priority.
var operations = []Operation{Harvest, Update, Backfill}

// ParseOperation accepts exactly the known codes.
func ParseOperation(text string) (Operation, error) {
	if op := Operation(text); slices.Contains(operations, op) {
		return op, nil
	}
	return "", fmt.Errorf("unknown operation %q: use HARVEST, BACKFILL or UPDATE", text)
}

// Priority returns the default queue priority: smaller first (D§5.1).
func (o Operation) Priority() int {
	switch o {
	case Harvest:
		return 10
	case Update:
		return 50
	default:
		return 90
	}
}

// Direction of a cursor event (§4.15).
func (o Operation) Direction() string {
	if o == Backfill {
		return "BACKFILL"
	}
	return "FORWARD"
}
