package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// attacks are texts that mean something to a database, a file system, a page or a terminal.
var attacks = []string{`' OR '1'='1`, `x'; DROP TABLE ing_plan; --`, `" UNION SELECT 1 --`, `%' ESCAPE '`, `../../etc/passwd`, "a\x00b", "\u202e<script>alert(1)</script>", `\`}

// TestA24FiltersAreValues gives every parameter of every list and every name of a path texts
// that try to become part of a statement or of a path: each is refused or finds nothing, and
// nothing of the inside is told (A24, A25, R12).
func TestA24FiltersAreValues(t *testing.T) {
	s := serve(t)
	calls := 0
	for path, item := range s.handler.Description.Paths {
		if item.Get == nil {
			continue
		}
		for _, p := range item.Get.Parameters {
			for _, attack := range attacks {
				called := strings.NewReplacer("{source}", "crossref", "{id}", "1").Replace(path)
				switch p.In {
				case "query":
					called += "?" + url.Values{p.Name: {attack}}.Encode()
				case "path":
					called = strings.ReplaceAll(strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(attack)), "{id}", "1")
				default:
					continue
				}
				calls++
				status, _, body := s.call(http.MethodGet, called)
				if status >= http.StatusInternalServerError {
					t.Errorf("GET %s: %d %s", called, status, body)
				}
				for _, inner := range []string{"SQL", "sqlite", "syntax error", "ing_"} {
					if status != http.StatusOK && strings.Contains(string(body), inner) && !strings.Contains(attack, inner) {
						t.Errorf("GET %s tells %q: %s", called, inner, body)
					}
				}
				var list struct{ Items []json.RawMessage }
				if p.In == "query" && (p.Name == "source" || p.Name == "status") && status == http.StatusOK && json.Unmarshal(body, &list) == nil && len(list.Items) > 0 {
					t.Errorf("GET %s finds %d rows", called, len(list.Items))
				}
			}
		}
	}
	if calls < 300 {
		t.Errorf("only %d calls", calls)
	}
	var plans struct{ Items []json.RawMessage }
	if s.read("/v1/plans", &plans); len(plans.Items) == 0 {
		t.Error("the plans are gone")
	}
}

// TestListsPageToTheirEndWhileDataChanges asks for plans one by one while others are made: every
// plan that was there at the beginning comes, and comes once.
func TestListsPageToTheirEndWhileDataChanges(t *testing.T) {
	s := serve(t)
	trigger := func(n int) {
		status, _, body := s.send(http.MethodPost, "/v1/sources/pubmed/trigger", fmt.Sprintf(`{"reason":"more","operation":"BACKFILL","from":"2020-01-%02dT00:00:00Z","to":"2020-01-%02dT00:00:00Z","offline":true}`, n, n+1))
		if status != http.StatusOK {
			t.Fatalf("trigger: %d %s", status, body)
		}
	}
	trigger(1)
	for _, list := range []string{"/v1/plans", "/v1/slices", "/v1/tasks", "/v1/triggers", "/v1/audit"} {
		read := func(query string) (ids []string, more bool, next string) {
			var page struct {
				Items []struct{ ID json.Number }
				More  bool
				Next  string
			}
			s.read(list+query, &page)
			for _, one := range page.Items {
				ids = append(ids, one.ID.String())
			}
			return ids, page.More, page.Next
		}
		first, _, _ := read("?limit=1000")
		var paged []string
		cursor, n := "", 2
		for {
			ids, more, next := read("?limit=7&cursor=" + cursor)
			if paged = append(paged, ids...); !more {
				break
			}
			cursor = next
			if n < 6 {
				trigger(n)
				n++
			}
		}
		if !slices.Equal(paged, first) {
			t.Errorf("%s: %d rows in pages while others came, %d in one go before", list, len(paged), len(first))
		}
	}
}
