package wording

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// StartedOverText is what a bar and a status say of a slice.
func StartedOverText(f view.StartedOver) string {
	text := fmt.Sprintf("the slice %s started over %s: %s", WindowText(f.Window), Count(f.Restarts, "time"), Shorten(OrDash(f.Reason), 300))
	if f.Restarts > ingest.UsualRestarts {
		text += fmt.Sprintf("; `patra task show %d` tells more, smaller slices (slicing.step) start over less often", f.TaskID)
	}
	return text
}
