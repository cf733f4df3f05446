package ingest

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/health"
)

// HealthNote is what one process says of the health of a partition: everything
// that is in force, so that what is left out has ended. It counts until For has
// passed: a process that dies must not leave a condition behind.
type HealthNote struct {
	Partition Partition
	Owner     string
	For       time.Duration
	InForce   []ConditionNote
}

// ConditionNote is one condition that is in force.
type ConditionNote struct {
	health.InForce
	Detail string // what was measured, for people
}

// Holding returns the condition that keeps planners from making more tasks, if
// one does (§5.7).
func Holding(list []ConditionNote) (ConditionNote, bool) {
	for _, c := range list {
		if rule, known := health.RuleOf(c.Condition); known && rule.Does(health.PausePlanning, c.Level) {
			return c, true
		}
	}
	return ConditionNote{}, false
}

// ByItself is the actor of what the program does to a source without being told.
const ByItself = "executor"

// Suspension is why a plan is not sliced on for now. It stands among the remarks
// of the plan.
type Suspension struct {
	Reason    string           `json:"reason"`
	Condition health.Condition `json:"condition,omitempty"`
	MaxStock  int              `json:"maxStock,omitempty"`
	NextSlice int              `json:"nextSlice"`
}
