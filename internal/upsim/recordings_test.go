package upsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Recorded answers of the real service, where they are at hand, have the keys
// that simulated answers have.
func TestShapesMatchRecordings(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "fixtures", "crossref")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("no recordings here")
	}
	d := month(nil)
	s := serve(t, d, Options{})
	some := d.Truth()[0].DOI
	tests := []struct {
		file, path, query string
		status            int
	}{
		{"works-cursor-p1.json", "/works", "cursor=*", 200},
		{"works-empty.json", "/works", "filter=from-index-date:2030", 200},
		{"works-rows0-total-only.json", "/works", "rows=0", 200},
		{"work-no-issued-date.json", "/works/" + some, "", 200},
		{"error-400-rows-not-a-number.json", "/works", "rows=things", 400},
		{"error-400-unknown-filter.json", "/works", "filter=x:1", 400},
		{"error-404-invalid-cursor.json", "/works", "cursor=thing", 404},
	}
	for _, tt := range tests {
		recorded, err := os.ReadFile(filepath.Join(folder, tt.file))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Get(s.URL() + tt.path + "?" + tt.query)
		if err != nil {
			t.Fatal(err)
		}
		var real, own any
		if err := json.NewDecoder(resp.Body).Decode(&own); err != nil {
			t.Fatal(tt.file, err)
		}
		resp.Body.Close()
		if err := json.Unmarshal(recorded, &real); err != nil {
			t.Fatal(tt.file, err)
		}
		if resp.StatusCode != tt.status {
			t.Errorf("%s: status %d, recorded %d", tt.file, resp.StatusCode, tt.status)
		}
		want, got := frame(real), frame(own)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", tt.file, got, want)
		}
		compareItems(t, tt.file, real, own)
	}
}

// frame lists the keys and types of an answer outside the works themselves.
func frame(answer any) []string {
	var keys []string
	var visit func(path string, v any)
	visit = func(path string, v any) {
		keys = append(keys, fmt.Sprintf("%s %T", path, v))
		switch v := v.(type) {
		case map[string]any:
			if _, work := v["DOI"]; work || path == ".message.facets" {
				return
			}
			for k, inner := range v {
				if k != "search-terms" { // null or text
					visit(path+"."+k, inner)
				}
			}
		case []any:
			if len(v) > 0 {
				visit(path+"[]", v[0])
			}
		}
	}
	visit("", answer)
	slices.Sort(keys)
	return keys
}

// compareItems checks that what every recorded work has, every own work has
// with the same type, and that own works have no keys the real ones never have.
func compareItems(t *testing.T, file string, real, own any) {
	items := func(answer any) []any {
		message, ok := answer.(map[string]any)["message"].(map[string]any)
		if !ok {
			return nil
		}
		list, _ := message["items"].([]any)
		return list
	}
	always, ever := map[string]int{}, map[string]string{}
	for _, it := range items(real) {
		for k, v := range it.(map[string]any) {
			always[k]++
			ever[k] = fmt.Sprintf("%T", v)
		}
	}
	for _, it := range items(own) {
		work := it.(map[string]any)
		for k, n := range always {
			if _, ok := work[k]; !ok && n == len(items(real)) {
				t.Errorf("%s: every recorded work has %s, own ones do not", file, k)
			}
		}
		for k, v := range work {
			if got := fmt.Sprintf("%T", v); got != ever[k] {
				t.Errorf("%s: own %s is %s, recorded %q", file, k, got, ever[k])
			}
		}
	}
}
