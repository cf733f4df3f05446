package upsim

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// A gap lacks records by id for as long as it is open, and lists do not show it.
func TestAGapInTheRecords(t *testing.T) {
	from := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	data := NewDataset(Config{Seed: 1, From: from, To: from.AddDate(0, 0, 1), PerDay: 5, Flat: true})
	server, err := NewServer(data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for truth := range data.Heads() {
		ids = append(ids, truth.DOI)
	}
	count := func() int {
		w := httptest.NewRecorder()
		server.ServeHTTP(w, httptest.NewRequest("GET", "/forms/records?ids="+url.QueryEscape(ids[0]+","+ids[1]), nil))
		var answer struct{ Items []json.RawMessage }
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		return len(answer.Items)
	}
	server.SetGap(func(id string) bool { return id == ids[0] })
	if n := count(); n != 1 {
		t.Errorf("%d records in a gap of one", n)
	}
	server.SetGap(nil)
	if n := count(); n != 2 {
		t.Errorf("%d records after the gap", n)
	}
}
