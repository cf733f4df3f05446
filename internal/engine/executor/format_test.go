package executor

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// renamed are things whose id has another name, from one on.
func renamed(found []thing, from string) map[string]any {
	items := []map[string]any{}
	for _, t := range found {
		name := "id"
		if t.ID >= from {
			name = "key"
		}
		items = append(items, map[string]any{name: t.ID, "updated": t.Updated})
	}
	return map[string]any{"items": items, "total": len(items), "more": false}
}

// evening holds the last three of twenty things, morning the first three.
var (
	evening = [2]time.Time{dayFrom.Add(20 * time.Hour), dayTo}
	morning = [2]time.Time{dayFrom, dayFrom.Add(3 * time.Hour)}
)

// §4.13, §12.1: a handful of items that cannot be understood are a changed format where
// older ones cannot be understood any more either, and bad items where they can. Where
// nobody can tell, the slice fails as any with too many of them.
func TestAHandfulIsHeldAgainstOlderItems(t *testing.T) {
	for name, c := range map[string]struct {
		within   [2]time.Time
		from     string // the first that is renamed
		search   func(l *list, r *http.Request, found []thing) any
		settings []string
		status   ingest.TaskStatus
		code     string
		aside    int
		requests int
	}{
		"all of them are renamed":      {within: evening, from: "", status: ingest.TaskFailed, code: "SCHEMA_CHANGE", requests: 2},
		"these three are bad":          {within: evening, from: "t017", status: ingest.TaskSucceeded, aside: 3, requests: 2},
		"two of three are bad":         {within: evening, from: "t018", status: ingest.TaskSucceeded, aside: 2, requests: 2},
		"none is older":                {within: morning, from: "", status: ingest.TaskFailed, code: "REJECT_RATE", aside: 3, requests: 3},
		"not one may be bad":           {within: evening, from: "t017", settings: []string{"response.maxRejectRate=0"}, status: ingest.TaskFailed, code: "REJECT_RATE", aside: 3, requests: 2},
		"all may be bad":               {within: evening, from: "", settings: []string{"response.maxRejectRate=1"}, status: ingest.TaskSucceeded, aside: 3, requests: 1},
		"older ones are not to be had": {within: evening, from: "", search: onlyTheEvening, status: ingest.TaskFailed, code: "REJECT_RATE", aside: 3, requests: 2},
	} {
		t.Run(name, func(t *testing.T) {
			l := &list{things: things(20), search: c.search}
			if l.search == nil {
				l.search = func(_ *list, _ *http.Request, found []thing) any { return renamed(found, c.from) }
			}
			w := byHand(t, l, byOffset+withTotal, append(c.settings, "paging.stable=true", "paging.size=50")...)
			w.planFrom(c.within[0], c.within[1])
			w.work()
			out := w.outcomes[len(w.outcomes)-1]
			if out.Task != c.status || out.Code != c.code || out.Stats.Quarantined != c.aside || l.calls["/list"] != c.requests {
				t.Errorf("%d requests: %+v", l.calls["/list"], out)
			}
			if c.code != "" && !strings.Contains(out.Error, "$.id") {
				t.Errorf("the rule is not named: %s", out.Error)
			}
			stop, stopped, err := w.store.Paused(t.Context(), ingest.Partition{Dataset: ingest.Dataset{Source: "hand", Endpoint: "works"}, Operation: ingest.Harvest})
			if err != nil || stopped != (c.code == "SCHEMA_CHANGE") {
				t.Errorf("stopped: %v %+v %v", stopped, stop, err)
			}
			w.checked()
		})
	}
}

func onlyTheEvening(_ *list, r *http.Request, found []thing) any {
	if !strings.Contains(r.FormValue("from"), "T20") {
		return refusal(400)
	}
	return renamed(found, "")
}

// The same holds for details: records that are stored could be understood once.
func TestAHandfulOfDetailsIsHeldAgainstStoredRecords(t *testing.T) {
	for name, c := range map[string]struct {
		from   string
		status ingest.TaskStatus
		code   string
		aside  int
	}{
		"all of them are renamed": {"", ingest.TaskFailed, "SCHEMA_CHANGE", 0},
		"these three are bad":     {"t017", ingest.TaskSucceeded, "", 3},
	} {
		t.Run(name, func(t *testing.T) {
			l, from := &list{things: things(20)}, "z"
			l.fetch = func(_ *list, _ *http.Request, asked []thing) any {
				items := []map[string]any{}
				for _, t := range asked {
					items = append(items, map[string]any{"id": t.ID, "updated": t.Updated})
					if t.ID >= from {
						items[len(items)-1]["updated"] = "soon"
					}
				}
				return map[string]any{"items": items}
			}
			w := byHand(t, l, inTwoSteps)
			w.planFrom(dayFrom, evening[0])
			w.work()
			from = c.from
			w.planFrom(evening[0], evening[1])
			w.work()
			out := w.outcomes[len(w.outcomes)-1]
			if out.Task != c.status || out.Code != c.code || out.Stats.Quarantined != c.aside {
				t.Errorf("%+v", out)
			}
			w.checked()
		})
	}
}
