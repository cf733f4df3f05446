package view

import "time"

// LastSpec is what the newest plan of a partition was made with.
type LastSpec struct {
	PlanID    int64
	CreatedAt time.Time
	Snapshot  []byte // as spec.Load reads it
}
