package executor

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

const inParts = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.token}"}}
    paging: {type: TOKEN}
    response: {items: $.items, expand: {path: "$.parts[*]", carry: {id: $.id, updated: $.updated}}, id: "${carried('id')}/${jsonPath('$.n')}", updatedAt: "${carried('updated')}", nextToken: $.next, total: $.total}
`

// I2: the upstream announces items, and each holds several records: a walk that ends early is not whole
// although more records came than items were announced.
func TestTotalsAreAboutItemsOfTheUpstream(t *testing.T) {
	type whole struct {
		ID      string           `json:"id"`
		Updated time.Time        `json:"updated"`
		Parts   []map[string]int `json:"parts"`
	}
	serve := func(short bool) *list {
		l := &list{things: things(40)}
		l.search = func(_ *list, r *http.Request, found []thing) any {
			page := leaf(found, at(r))
			items := []whole{}
			for _, one := range page["items"].([]thing) {
				w := whole{one.ID, one.Updated, []map[string]int{}}
				for n := range len(items) % 5 {
					w.Parts = append(w.Parts, map[string]int{"n": n})
				}
				items = append(items, w)
			}
			page["items"] = items
			if short && at(r) == 20 {
				page["next"] = ""
			}
			return page
		}
		return l
	}
	w := byHand(t, serve(false), inParts)
	w.harvest()
	if states := w.states(); !w.believed() || len(states) != 80 || states["t001/0"] == "" {
		t.Errorf("%d records of 40 items with two parts on average: %s", len(states), w.story())
	}
	w.checked()

	w = byHand(t, serve(true), inParts)
	w.config.MaxRestarts = 2
	w.harvest()
	if want := fmt.Sprintf("SHORT_COUNT: the upstream delivered %d items; it announced 40", 30); w.believed() || !strings.Contains(w.story(), want) {
		t.Errorf("30 of 40 items count as all of them, because there are 60 records: %s", w.story())
	}
}
