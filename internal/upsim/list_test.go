package upsim

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAFullWalkServesTheTruth(t *testing.T) {
	d := month(func(c *Config) { c.BadIDEvery, c.BadDateEvery = 50, 70 })
	for _, mode := range []CursorMode{ScrollCursor, ReplayableCursor} {
		s := serve(t, d, Options{Cursor: mode})
		got := walkAll(t, oneShot(t), s, "100", "sort", "indexed", "order", "asc")
		want := d.Truth()
		if len(got) != len(want) {
			t.Fatalf("mode %d served %d works, truth has %d", mode, len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i].JSON) {
				t.Fatalf("mode %d, work %d:\nserved %s\ntruth  %s", mode, i, got[i], want[i].JSON)
			}
		}
	}
}

func TestWithoutSortEveryWorkComesOnce(t *testing.T) {
	d := month(nil)
	seen := map[string]int{}
	for _, w := range walkAll(t, oneShot(t), serve(t, d, Options{}), "77") {
		seen[doiOf(t, w)]++
	}
	for h := range d.Heads() {
		if seen[h.DOI] != 1 {
			t.Errorf("%s came %d times", h.DOI, seen[h.DOI])
		}
	}
}

func TestDayFilter(t *testing.T) {
	d := month(nil)
	s := serve(t, d, Options{})
	tests := []struct {
		filter      string
		first, last string // days, both included
	}{
		{"from-index-date:2024-03-05,until-index-date:2024-03-05", "2024-03-05", "2024-03-05"},
		{"from-index-date:2024-03-05,until-index-date:2024-03-07", "2024-03-05", "2024-03-07"},
		{"from-index-date:2024-03-30", "2024-03-30", "2024-03-31"},
		{"until-index-date:2024-03-02", "2024-03-01", "2024-03-02"},
		{"from-index-date:2024-03,until-index-date:2024-03", "2024-03-01", "2024-03-31"},
		{"until-index-date:2024", "2024-03-01", "2024-03-31"},
		{"from-index-date:2025", "2025-01-01", "2024-12-31"},
		{"from-index-date:2024-03-09,until-index-date:2024-03-08", "2024-03-09", "2024-03-08"},
	}
	for _, tt := range tests {
		want := 0
		for h := range d.Heads() {
			if on := h.Indexed.Format(time.DateOnly); on >= tt.first && on <= tt.last {
				want++
			}
		}
		e := askList(t, oneShot(t), s, "filter", tt.filter, "rows", "0")
		if e.Message.Total != want || len(e.Message.Items) != 0 || e.Message.PerPage != 0 {
			t.Errorf("%s: total %d, want %d; %d items", tt.filter, e.Message.Total, want, len(e.Message.Items))
		}
		if got := walkAll(t, oneShot(t), s, "50", "filter", tt.filter); len(got) != want {
			t.Errorf("%s: walk gave %d, want %d", tt.filter, len(got), want)
		}
	}
}

// A filter selects at the precision it is written in: an hour is the whole hour,
// a second one second, both ends included.
func TestTimeFilter(t *testing.T) {
	d := month(nil)
	s := serve(t, d, Options{})
	one := slices.Collect(d.Heads())[700].Indexed
	second, minute, hour := one.Format("2006-01-02T15:04:05"), one.Format("2006-01-02T15:04"), one.Format("2006-01-02T15")
	later := one.Add(36 * time.Hour)
	for _, tt := range []struct {
		from, until string
		first, last time.Time // both included
	}{
		{second, second, one, one},
		{minute, minute, one.Truncate(time.Minute), one.Truncate(time.Minute).Add(time.Minute - time.Second)},
		{hour, hour, one.Truncate(time.Hour), one.Truncate(time.Hour).Add(time.Hour - time.Second)},
		{second, later.Format("2006-01-02T15:04:05"), one, later},
		{second, one.Format(time.DateOnly), one, one.Truncate(24 * time.Hour).Add(24*time.Hour - time.Second)},
		{second, one.Add(-time.Second).Format("2006-01-02T15:04:05"), one, one.Add(-time.Second)},
	} {
		want := 0
		for h := range d.Heads() {
			if !h.Indexed.Before(tt.first) && !h.Indexed.After(tt.last) {
				want++
			}
		}
		filter := "from-index-date:" + tt.from + ",until-index-date:" + tt.until
		for _, order := range []string{"indexed", "score"} {
			if got := walkAll(t, oneShot(t), s, "50", "filter", filter, "sort", order, "order", "asc"); len(got) != want {
				t.Errorf("%s by %s: %d, want %d", filter, order, len(got), want)
			}
		}
	}
	for _, odd := range []string{second + "Z", second + ".5", one.Format("2006-01-02 15:04:05"), one.Format("2006-01-02T3:4"), one.Format("2006-01-02") + "T"} {
		resp, _, err := ask(oneShot(t), s, "/works", query("filter", "from-index-date:"+odd))
		if err != nil || resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s is taken: %v, %v", odd, resp.Status, err)
		}
	}
}

func TestNothingFound(t *testing.T) {
	s := serve(t, month(nil), Options{})
	resp, body, err := ask(oneShot(t), s, "/works", query("filter", "from-index-date:2030-01-01", "cursor", "*"))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	for _, part := range []string{`"total-results":0`, `"items":[]`, `"next-cursor":"`} {
		if !bytes.Contains(body, []byte(part)) {
			t.Errorf("no %s in %s", part, body)
		}
	}
}

func TestOffsetPaging(t *testing.T) {
	d := month(nil)
	s := serve(t, d, Options{})
	truth := d.Truth()
	e := askList(t, oneShot(t), s, "rows", "5", "offset", "1238", "sort", "indexed", "order", "asc")
	if len(e.Message.Items) != 2 || doiOf(t, e.Message.Items[0]) != truth[1238].DOI || e.Message.NextCursor != nil {
		t.Errorf("%d items, first %s, want 2 from %s", len(e.Message.Items), e.Message.Items[0], truth[1238].DOI)
	}
	if e := askList(t, oneShot(t), s, "sort", "indexed"); len(e.Message.Items) != 20 || doiOf(t, e.Message.Items[0]) != truth[1239].DOI {
		t.Errorf("without rows and order: %d items, first %s", len(e.Message.Items), e.Message.Items[0])
	}
	if e := askList(t, oneShot(t), s, "offset", "10000"); len(e.Message.Items) != 0 {
		t.Errorf("%d items far behind the end", len(e.Message.Items))
	}
	if last := s.Log()[2]; last.Items != 0 {
		t.Errorf("%d items logged far behind the end", last.Items)
	}
}

func TestRefusals(t *testing.T) {
	s := serve(t, month(nil), Options{})
	tests := []struct {
		path, query      string
		status           int
		kind, typ, value string
	}{
		{"/works", "rows=things", 400, "validation-failure", "integer-not-valid", "things"},
		{"/works", "rows=1001", 400, "validation-failure", "integer-not-valid", "1001"},
		{"/works", "rows=-1", 400, "validation-failure", "integer-not-valid", "-1"},
		{"/works", "offset=10001", 400, "validation-failure", "integer-not-valid", "10001"},
		{"/works", "filter=has-fun:1", 400, "validation-failure", "filter-not-available", "has-fun"},
		{"/works", "filter=from-index-date:2024-02-30", 400, "validation-failure", "date-not-valid", "2024-02-30"},
		{"/works", "filter=from-index-date:2024,from-index-date:2025", 400, "validation-failure", "filter-repeated", "from-index-date"},
		{"/works", "sort=beauty", 400, "validation-failure", "sort-not-valid", "beauty"},
		{"/works", "order=up", 400, "validation-failure", "order-not-valid", "up"},
		{"/works", "row=5", 400, "validation-failure", "parameter-not-allowed", "row"},
		{"/works", "rows=5&rows=6", 400, "validation-failure", "parameter-repeated", "rows"},
		{"/works", "cursor=*&offset=5", 400, "validation-failure", "parameter-conflict", "offset"},
		{"/works", "cursor=thing", 404, "resource-failure", "cursor-invalid", "thing"},
	}
	for _, tt := range tests {
		values, _ := url.ParseQuery(tt.query)
		resp, body, err := ask(oneShot(t), s, tt.path, values)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Status  string
			Type    string `json:"message-type"`
			Message []struct{ Type, Value, Message string }
		}
		if err := json.Unmarshal(body, &got); err != nil || resp.StatusCode != tt.status || len(got.Message) != 1 {
			t.Errorf("%s: status %d, %v, %s", tt.query, resp.StatusCode, err, body)
			continue
		}
		m := got.Message[0]
		if got.Status != "failed" || got.Type != tt.kind || m.Type != tt.typ || m.Value != tt.value || m.Message == "" {
			t.Errorf("%s: %s", tt.query, body)
		}
	}
	for _, path := range []string{"/", "/journals", "/works/10.5555/nobody"} {
		resp, body, err := ask(oneShot(t), s, path, nil)
		if err != nil || resp.StatusCode != 404 || resp.Header.Get("Content-Type") != "text/plain" || string(body) != "Resource not found." {
			t.Errorf("%s: %v %s", path, err, body)
		}
	}
}

func TestSingleWork(t *testing.T) {
	d := month(nil)
	s := serve(t, d, Options{})
	for _, w := range d.Truth()[:40] {
		for _, spelled := range []string{w.DOI, strings.ToUpper(w.DOI)} {
			for _, path := range []string{url.PathEscape(spelled), (&url.URL{Path: spelled}).EscapedPath()} {
				resp, body, err := ask(oneShot(t), s, "/works/"+path, query("mailto", "a@example.org"))
				if err != nil || resp.StatusCode != 200 {
					t.Fatalf("%s: %v %v", path, resp, err)
				}
				var got struct {
					Type    string `json:"message-type"`
					Message json.RawMessage
				}
				if err := json.Unmarshal(body, &got); err != nil || got.Type != "work" || !bytes.Equal(got.Message, w.JSON) {
					t.Fatalf("%s: %v\n%s\n%s", path, err, body, w.JSON)
				}
			}
		}
	}
}

func TestHeaders(t *testing.T) {
	s := serve(t, month(nil), Options{Polite: Pool{Rate: 50, Interval: 1500 * time.Millisecond, Concurrency: 7}})
	tests := []struct {
		name, query, agent string
		want               [4]string // pool, limit, interval, concurrency
	}{
		{"nobody", "", "thing/1", [4]string{"public", "5", "1s", "1"}},
		{"by query", "mailto=a@example.org", "thing/1", [4]string{"polite", "50", "1.5s", "7"}},
		{"by agent", "", "thing/1 (mailto:a@example.org)", [4]string{"polite", "50", "1.5s", "7"}},
	}
	for _, tt := range tests {
		req, _ := http.NewRequest(http.MethodGet, s.URL()+"/works?"+tt.query, nil)
		req.Header.Set("User-Agent", tt.agent)
		resp, err := oneShot(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		h := resp.Header
		got := [4]string{h.Get("x-api-pool"), h.Get("x-rate-limit-limit"), h.Get("x-rate-limit-interval"), h.Get("x-concurrency-limit")}
		if got != tt.want || h.Get("content-type") != "application/json" {
			t.Errorf("%s: %v %s, want %v", tt.name, got, h.Get("content-type"), tt.want)
		}
	}
}

func TestGzip(t *testing.T) {
	tests := []struct {
		accept  string
		disable bool
		want    bool
	}{
		{"gzip", false, true}, {"br, gzip;q=0.5", false, true}, {"gzip; q=0", false, false},
		{"identity", false, false}, {"gzip", true, false},
	}
	for _, tt := range tests {
		s := serve(t, month(nil), Options{DisableGzip: tt.disable})
		req, _ := http.NewRequest(http.MethodGet, s.URL()+"/works?rows=50", nil)
		req.Header.Set("Accept-Encoding", tt.accept)
		resp, err := oneShot(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if zipped := resp.Header.Get("Content-Encoding") == "gzip"; zipped != tt.want || resp.ContentLength != int64(len(body)) {
			t.Errorf("%q: gzip %v, want %v; length %d of %d", tt.accept, zipped, tt.want, resp.ContentLength, len(body))
		}
		if tt.want {
			z, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		if !json.Valid(body) {
			t.Errorf("%q: not JSON", tt.accept)
		}
	}
}

func TestOnlyGet(t *testing.T) {
	s := serve(t, month(nil), Options{})
	resp, err := oneShot(t).Post(s.URL()+"/works", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("status %d", resp.StatusCode)
	}
}
