package daemon

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// aloneText is a source without a list: it is asked for one work at a time.
func aloneText(address string) string {
	return fmt.Sprintf(`source: alone
name: Asked by id
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 1000}
endpoints:
  work:
    role: DETAIL
    request: {path: "/works/${join(ids, ',')}"}
    retry: {ignoreStatus: [404]}
    response: {items: $, single: true, id: $.doi, updatedAt: $.updated, fields: {title: $.title}}
`, address)
}

// A source with a DETAIL endpoint alone is asked for the records that a person or a program
// names; there is nothing to harvest, and it says so (§4.14).
func TestASourceThatIsOnlyAskedByID(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		var mu sync.Mutex
		held := map[string]string{"10.1/a": "A", "10.1/b": "B"}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			id := strings.TrimPrefix(r.URL.Path, "/works/")
			title, known := held[id]
			if !known {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			fmt.Fprintf(w, `{"doi":%q,"title":%q,"updated":"2025-03-04"}`, id, title)
		}))
		defer server.Close()
		src, _, err := registry.Decode("alone.yaml", []byte(aloneText(server.URL)))
		if err != nil {
			t.Fatal(err)
		}
		if found := src.Validate(); len(found) > 0 {
			t.Fatal(found)
		}
		for _, op := range []ingest.Operation{ingest.Harvest, ingest.Backfill} {
			for _, endpoint := range []string{"", "work"} {
				if _, err := Compile(src, endpoint, op, nil); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "has no list") || !strings.Contains(err.Error(), "patra update alone --ids") {
					t.Errorf("%s of %q: %v", op, endpoint, err)
				}
			}
		}
		c, err := Compile(src, "", ingest.Update, nil)
		if err != nil {
			t.Fatal(err)
		}
		localstore.GiveTables(t, database)
		app, err := Open(t.Context(), Config{Database: database, Relaxed: true, Workers: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		look := func(ids ...string) ingest.RunStats {
			t.Helper()
			added, err := app.Operator.Signal(t.Context(), c.Snapshot, refresh.Requested, ids, ingest.Act{Actor: "a", Reason: "b"})
			if err != nil {
				t.Fatal(err)
			}
			request := NewRequest(time.Now(), nil, nil)
			request.Refresh = Refresh{Spec: refresh.Spec{Policy: refresh.BySignal}, From: added.From, To: added.To}
			done, err := app.Harvest(t.Context(), c, request, Watch{})
			if err != nil {
				t.Fatal(err)
			}
			return done.Plan.Stats
		}
		if n := look("10.1/a", "10.1/b", "10.1/none"); n.Inserted != 2 || n.Missed.NotFound != 1 || n.Quarantined != 0 {
			t.Errorf("%+v", n)
		}
		mu.Lock()
		held["10.1/b"] = "B corrected"
		mu.Unlock()
		if n := look("10.1/a", "10.1/b"); n.Unchanged != 1 || n.Updated != 1 {
			t.Errorf("%+v", n)
		}
		// Every record has its turn, as of any other source.
		turns := NewRequest(time.Now().Add(time.Hour), nil, nil)
		if draft, err := app.Planner.Draft(t.Context(), c, turns); err != nil || draft.Window == nil {
			t.Errorf("%+v, %v", draft, err)
		}
	})
}
