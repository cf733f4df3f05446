package upsim

import (
	"encoding/json"
	"net/http"
	"testing"
)

// A list by days gives the works of one day, and takes no window.
func TestDailyList(t *testing.T) {
	d := NewDataset(Config{Seed: 3, From: day("2024-03-01"), To: day("2024-03-04"), PerDay: 12, Flat: true})
	s := serve(t, d, Options{})
	get := func(query string) (int, formBody) {
		t.Helper()
		r, err := http.Get(s.URL() + "/forms/daily?" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var out formBody
		if err := json.NewDecoder(r.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, out
	}
	status, page := get("day=2024-03-02&size=10&offset=10")
	if status != http.StatusOK || *page.Total != 12 || len(*page.Items) != 2 || (*page.Items)[0].Updated[:10] != "2024-03-02" {
		t.Errorf("%d %+v", status, page)
	}
	for _, query := range []string{"", "day=soon", "day=2024-03-02&from=2024-03-01T00:00:00Z"} {
		if status, _ := get(query); status != http.StatusBadRequest {
			t.Errorf("%q: %d", query, status)
		}
	}
}
