package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// TestVersionsAreListedByWhenTheyWereStored reads all versions page by page, then from an instant
// on and up to it: together they are all of them.
func TestVersionsAreListedByWhenTheyWereStored(t *testing.T) {
	s := serve(t)
	all := func(query string) (out []view.Change) {
		t.Helper()
		for cursor := ""; ; {
			var page view.List[view.Change]
			s.read(fmt.Sprintf("/v1/sources/%s/changes?limit=7&cursor=%s&%s", s.source, cursor, query), &page)
			if out = append(out, page.Items...); page.Next == nil {
				return out
			}
			if cursor = *page.Next; len(page.Items) > 7 || len(out) > 10_000 {
				t.Fatalf("%s: %d items", query, len(page.Items))
			}
		}
	}
	var count struct{ Active, Gone int64 }
	s.read("/v1/sources/"+s.source+"/records/count", &count)
	long := all("since=2000-01-01T00:00:00Z")
	first := 0
	for i, c := range long {
		if c.Version == 1 {
			first++
		}
		if i > 0 && c.Body <= long[i-1].Body || c.ID == "" || c.StoredAt.IsZero() || c.FetchedAt.IsZero() || c.BatchID == 0 {
			t.Fatalf("%d: %+v", i, c)
		}
	}
	if int64(first) != count.Active+count.Gone || first < 20 {
		t.Errorf("%d first versions of %d records", first, count.Active+count.Gone)
	}
	at := url.QueryEscape(long[len(long)/2].StoredAt.Format(time.RFC3339Nano))
	since, until := all("since="+at), all("since=2000-01-01T00:00:00Z&until="+at)
	if len(since) == 0 || len(until) == 0 || len(since)+len(until) != len(long) {
		t.Errorf("%d since %s and %d before, of %d", len(since), at, len(until), len(long))
	}
	for _, wrong := range []string{"cursor=x", "cursor=-7", "since=soon", "since=2025-01-02T00:00:00Z&until=2025-01-02T00:00:00Z", "until=2000-01-01T00:00:00Z"} {
		if status, _, body := s.call(http.MethodGet, "/v1/sources/"+s.source+"/changes?"+wrong); status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d %s", wrong, status, body)
		}
	}
}

// Who acts must not read of what is over, though those who ask share what a person should look at.
func TestFindingsAreSharedUntilSomebodyActs(t *testing.T) {
	s := serve(t)
	found := func() (paused bool) {
		var list struct{ Items []struct{ Code string } }
		s.read("/v1/findings", &list)
		for _, f := range list.Items {
			paused = paused || f.Code == string(view.FoundPaused)
		}
		return paused
	}
	if found() {
		t.Fatal("paused before anybody did")
	}
	if status, _, body := s.send(http.MethodPost, "/v1/sources/crossref/pause", `{"reason":"upgrade"}`); status != http.StatusOK {
		t.Fatalf("pause: %d %s", status, body)
	}
	if !found() {
		t.Error("the findings are those from before the change")
	}
}
