package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/surface/httpapi"
)

// applyAndCompile stores the source with some sets, and returns how it is harvested.
func (w *sectorWorld) applyAndCompile(values string) *spec.Compiled {
	w.Helper()
	src, _, err := registry.Decode("sets.yaml", fmt.Appendf(nil, sectorSource, w.url, values))
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.app.ApplySource(w.Context(), src, registry.ApplyOptions{Actor: "test", Reason: "x"}); err != nil {
		w.Fatal(err)
	}
	return w.compile(values, ingest.Harvest)
}

// One part of a list is filled and waived over HTTP as it is on the command line: only where it is behind the others, once
// for one Idempotency-Key, with a row in the audit log, and the answer never promises more than its reading brings.
func TestAPartitionIsFilledAndWaivedOverHTTP(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newSectorWorld(t, database)
		const values = `cs, math, "q&a"`
		c := w.applyAndCompile(values)
		for _, part := range []struct {
			from, to int
			broken   []string
		}{{1, 2, nil}, {2, 3, []string{"math", "q&a"}}, {3, 5, []string{"math"}}} { // no more of it fails than trouble begins with
			w.shelves.broken = map[string]bool{}
			for _, set := range part.broken {
				w.shelves.broken[set] = true
			}
			from, to := marchDay(part.from), marchDay(part.to)
			if _, err := w.app.Harvest(t.Context(), c, NewRequest(to, &from, &to), Watch{}); err != nil {
				t.Fatal(err)
			}
		}
		w.shelves.broken = map[string]bool{}
		api := w.app.NewAPI(httpapi.Settings{Version: "test", CallerOf: anAdmin, RequestID: func(context.Context) string { return "r" }, Log: slog.New(slog.DiscardHandler)}, nil)
		post := func(path, body, key string, want int, into any) string {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", key)
			answer := httptest.NewRecorder()
			api.ServeHTTP(answer, r)
			if answer.Code != want {
				t.Fatalf("%s %s: %d %s", path, body, answer.Code, answer.Body)
			}
			if into != nil {
				if err := json.Unmarshal(answer.Body.Bytes(), into); err != nil {
					t.Fatal(err)
				}
			}
			return answer.Body.String()
		}
		get := func(path string, into any) {
			t.Helper()
			answer := httptest.NewRecorder()
			api.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if err := json.Unmarshal(answer.Body.Bytes(), into); err != nil || answer.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
			}
		}
		var slices, tree struct{ Items []struct{ Partition string } }
		get("/v1/slices?partition=set%3Dmath", &slices)
		if len(slices.Items) != 4 || slices.Items[0].Partition != "set=math" || slices.Items[3].Partition != "set=math" {
			t.Errorf("slices of math: %+v", slices.Items)
		}
		get("/v1/plans/1/lineage", &tree)
		if len(tree.Items) != 3 || tree.Items[0].Partition != "set=cs" || tree.Items[2].Partition != "set=q&a" {
			t.Errorf("slices of a plan: %+v", tree.Items)
		}
		body := func(set string, first, last int, more string) string {
			return fmt.Sprintf(`{"reason":"their outage","partition":"set=%s","from":"2025-03-%02dT00:00:00Z","to":"2025-03-%02dT00:00:00Z"%s}`, set, first, last, more)
		}
		const fill = "/v1/sources/sets/fill"
		waive := fmt.Sprintf("/v1/cursors/%d/waive", w.endpoint(c, values).Cursor.ID)
		plans := func() int {
			t.Helper()
			all, err := w.app.Plans.List(t.Context(), view.Filter{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		for _, path := range []string{fill, waive} {
			if got := post(path, body("maths", 2, 5, ""), "", http.StatusUnprocessableEntity, nil); !strings.Contains(got, "the source declares set=cs, set=math") {
				t.Error(got)
			}
		}

		// What nothing but a rehearsal asked for is not planned, and a part that is not behind needs nothing.
		before := plans()
		var read view.Filling
		post(fill, body("cs", 2, 5, ""), "", http.StatusOK, &read)
		if len(read.Planned) != 0 {
			t.Errorf("%+v", read)
		}
		post(fill, body("math", 2, 5, `,"dryRun":true`), "", http.StatusOK, &read)
		if len(read.Planned) != 1 || read.Partition != "set=math" || plans() != before {
			t.Errorf("%+v, %d plans instead of %d", read, plans(), before)
		}
		// Until q&a is read too, nothing of the first day counts.
		if !read.WouldBe.Equal(marchDay(2)) {
			t.Errorf("reading math brings the watermark to %s", read.WouldBe)
		}

		// The same key is the same plan, and another part under it is refused.
		post(fill, body("math", 2, 4, ""), "night", http.StatusOK, &read)
		var again view.Filling
		post(fill, body("math", 2, 4, ""), "night", http.StatusOK, &again)
		if len(read.Planned) != 1 || len(again.Planned) != 1 || read.Planned[0].PlanID == 0 || again.Planned[0].PlanID != read.Planned[0].PlanID || !again.Repeated || plans() != before+1 {
			t.Fatalf("%+v\n%+v", read, again)
		}
		post(fill, body("q&a", 2, 4, ""), "night", http.StatusConflict, nil)
		if done, err := w.app.Work(t.Context(), read.Planned[0].PlanID, nil); err != nil || done.Slices["SUCCEEDED"] != 2 || done.Total != 2 {
			t.Fatalf("%+v, %v", done, err)
		}
		if got := w.stored("math"); got != 9 {
			t.Errorf("%d works of math", got)
		}
		if s := w.state(c); !s.Cursor.Equal(marchDay(2)) {
			t.Errorf("q&a is missing, and the watermark stands at %s", s.Cursor)
		}

		// Waiving is rehearsed, done, and told in the audit log.
		var waived view.Waived
		post(waive, body("cs", 2, 5, ""), "", http.StatusOK, &waived)
		if len(waived.Waived) != 0 {
			t.Errorf("%+v", waived)
		}
		post(waive, body("q&a", 2, 3, `,"dryRun":true`), "", http.StatusOK, &waived)
		if s := w.state(c); len(waived.Waived) != 1 || !s.Cursor.Equal(marchDay(2)) {
			t.Errorf("%+v, the watermark stands at %s", waived, s.Cursor)
		}
		post(waive, body("q&a", 2, 3, ""), "", http.StatusOK, &waived)
		if s := w.state(c); !s.Cursor.Equal(marchDay(4)) || !strings.HasPrefix(waived.After, "2025-03-04") {
			t.Errorf("%+v, the watermark stands at %s", waived, s.Cursor)
		}
		acts, err := w.app.History.ListActs(t.Context(), view.Filter{Limit: 5})
		if err != nil || len(acts) == 0 || acts[0].Action != "coverage.waive" || acts[0].Reason != "their outage" || !strings.Contains(string(acts[0].Detail), "set=q") {
			t.Errorf("%+v, %v", acts, err)
		}

		// Where no other part is behind, its reading brings the watermark on.
		post(fill, body("math", 4, 5, ""), "", http.StatusOK, &read)
		if len(read.Planned) != 1 || !read.WouldBe.Equal(marchDay(5)) {
			t.Errorf("%+v", read)
		}
	})
}
