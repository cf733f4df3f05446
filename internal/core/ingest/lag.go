package ingest

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/window"
)

// PlanLag is what the next HARVEST plan of a namespace learns from this one
// about items that come late (S appendix C).
type PlanLag struct {
	Declared, SafetyLag time.Duration
	// Passed is what had been read without a hole up to the watermark when the
	// plan was made. An item that changes the store with a stamp in it came late:
	// it was not there when its time was read. Empty: nothing is measured.
	Passed window.Window
}
