package work

import (
	"fmt"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// knownRejects tells those of the quarantined that are no news.
func knownRejects(s ingest.BatchStats) string {
	if s.Known == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d of them known)", s.Known)
}

// hintKnown reports that a run rejected nothing new, and says so where it rejected
// what stands in quarantine already: the same junk comes with every lookback, and
// must not hide what is new.
func hintKnown(e *term.Env, s ingest.BatchStats, source string) bool {
	if s.NewlyQuarantined() > 0 {
		return false
	}
	if s.Known > 0 {
		e.Hint("%s rejected as before: in quarantine already and unchanged, or discarded; `patra quarantine groups %s --all` shows them", wording.Count(s.Known, "item"), source)
	}
	return true
}
