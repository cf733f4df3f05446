package executor

import (
	"net/http"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/engine/memory"
)

// Large answers take room in the budget of the process, as much as their format needs,
// and give it back: the next task finds all of it. Usual ones take none.
func TestTrust07LargeAnswersTakeRoom(t *testing.T) {
	for name, c := range map[string]struct {
		pad   int
		takes bool
	}{"usual": {1 << 20, false}, "large": {exchange.UsualBody + 1<<20, true}} {
		t.Run(name, func(t *testing.T) {
			l := &list{things: things(40)}
			l.search = func(_ *list, r *http.Request, found []thing) any {
				page := leaf(found, at(r))
				page["pad"] = strings.Repeat("x", c.pad)
				return page
			}
			w := byHand(t, l, byToken+asIs)
			budget := memory.New(1 << 30)
			w.config.Memory = budget
			w.harvest()
			w.holds(l.things)
			need := int64(8<<20) * int64(document.FormatJSON.MemoryPerByte()) // twice the usual
			if most := budget.Most(); c.takes != (most > 0) || most > need {
				t.Errorf("at most %d bytes were taken, of one answer %d", most, need)
			}
			all := budget.Hold()
			if err := all.Claim(t.Context(), budget.Total()); err != nil { // would wait for ever if something were left
				t.Error(err)
			}
		})
	}
}
