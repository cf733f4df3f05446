package spec

import "cmp"

// Priority returns the place of tasks in the queue and at the gate, the smaller number
// first: as declared, or set for one run, else that of the operation (D§5.1, §5.2.1).
func (s Snapshot) Priority() int { return cmp.Or(s.Slicing.Priority, s.Operation.Priority()) }
