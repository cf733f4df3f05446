package executor

import (
	"net/http"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// A list that comes whole with one answer.
const inOneAnswer = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}"}}
    paging: {type: ONE}
    response: {items: $.items, id: $.id, updatedAt: $.updated, filtered: $.updated`

// paging.type ONE: one request reads the window. An answer that announces more than it holds
// is not believed.
func TestOneAnswerIsTheWholeList(t *testing.T) {
	serve := func(short int) *list {
		l := &list{things: things(35)}
		l.search = func(_ *list, _ *http.Request, found []thing) any {
			return map[string]any{"items": found[:len(found)-min(short, len(found))], "total": len(found)}
		}
		return l
	}
	l := serve(0)
	w := byHand(t, l, inOneAnswer+withTotal)
	w.harvest()
	w.holds(l.things)
	if n := l.calls["/list"]; n != 1 {
		t.Errorf("%d requests for one answer", n)
	}

	l = serve(1)
	w = byHand(t, l, inOneAnswer+withTotal, "slicing.minStep=P1D")
	w.harvest()
	if last := w.outcomes[len(w.outcomes)-1]; w.believed() || !strings.Contains(string(fault.ShortCount)+string(fault.Budget), last.Code) {
		t.Errorf("an answer that holds less than it announces counts as read: %v\n%s", w.believed(), w.story())
	}
}
