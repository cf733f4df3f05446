package upsim

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// Lies can be told for a while, and the truth comes back.
func TestLiesPass(t *testing.T) {
	s := serve(t, NewDataset(Config{Seed: 3, From: day("2024-03-01"), To: day("2024-03-02"), PerDay: 3, Flat: true}), Options{})
	get := func(path string) string {
		t.Helper()
		r, err := http.Get(s.URL() + "/forms/" + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%d %v %s", r.StatusCode, err, body)
		}
		return string(body)
	}
	for _, c := range []struct {
		path, truth, lie string // how the answers begin
		lies             Lies
	}{
		{"csv?from=2024-03-01T00:00:00Z", "id,updated,title,version\n", "error: database is down\n", Lies{Down: true}},
		{"token", "{", "\ufeff{", Lies{Mark: true}},
		{"shelves?shelf=a", `{"total":0`, `{"total":1`, Lies{OnlyShelf: "b"}},
		{"shelves?shelf=b", `{"total":1`, `{"total":3`, Lies{AllShelves: true}},
	} {
		before := get(c.path)
		s.SetLies(c.lies)
		lie := get(c.path)
		s.SetLies(Lies{})
		if after := get(c.path); !strings.HasPrefix(before, c.truth) || !strings.HasPrefix(lie, c.lie) || len(after) != len(before) {
			t.Errorf("%s: %q, %q, %q", c.path, before, lie, after)
		}
	}
	if rows := strings.Count(get("csv"), "\n"); rows != 4 {
		t.Errorf("%d lines for three works", rows)
	}
	if rows := strings.Count(get("csv?offset=3"), "\n"); rows != 1 {
		t.Errorf("%d lines for none", rows)
	}
}
