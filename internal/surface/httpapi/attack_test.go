package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// attacks are texts that mean something to a database, a file system, a page or a terminal.
var attacks = []string{`' OR '1'='1`, `x'; DROP TABLE ing_plan; --`, `" UNION SELECT 1 --`, `%' ESCAPE '`, `../../etc/passwd`, "a\x00b", "\u202e<script>alert(1)</script>", `\`}

// TestA24A25FiltersAreValues gives every parameter of every list and every name of a path texts
// that try to become part of a statement or of a path: each is refused or finds nothing, and
// nothing of the inside is told (A24, A25, R12).
func TestA24A25FiltersAreValues(t *testing.T) {
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
