package extract

import (
	"bytes"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
)

// An item alone is read as in its page: the same record, hash and fields, or the
// same refusal.
func TestAnItemAloneIsReadAsInItsPage(t *testing.T) {
	path := func(text string) document.Path {
		p, err := document.ParsePath(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	c := Config{
		Items: path("$.found.items"), ID: PathSelector(path("$.id")), UpdatedAt: PathSelector(path("$.at")), Total: PathSelector(path("$.total")), MustHave: []document.Path{path("$.total")},
		Fields: map[string]Selector{"title": PathSelector(path("$.title"))}, Required: []string{"title"}, Volatile: []document.Path{path("$.score")},
	}.WithDefaults()
	r, err := Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	asked := Asked{Window: window.Window{From: time.Unix(0, 0), To: time.Unix(1e10, 0)}, FetchAt: time.Unix(7, 0), MappingID: 3}
	page, err := r.Read([]byte(`{"total": 3, "found": {"items": [{"id": "a", "at": "2025-03-01", "title": "A", "score": 1}, {"id": "b", "at": "2025-03-01"}, {"id": "c", "id": "d"}]}}`), asked)
	if err != nil || len(page.Records) != 1 || len(page.Rejects) != 2 {
		t.Fatalf("%+v, %v", page, err)
	}
	in, reject, err := r.Item(page.Records[0].Payload, asked)
	if err != nil || reject != nil || in.ProviderID != "a" || in.ContentHash != page.Records[0].ContentHash || !bytes.Equal(in.Fields, page.Records[0].Fields) ||
		!bytes.Equal(in.Payload, page.Records[0].Payload) || !in.FetchAt.Equal(asked.FetchAt) || in.MappingID != 3 {
		t.Errorf("%+v, %+v, %v", in, reject, err)
	}
	for _, want := range page.Rejects {
		in, reject, err := r.Item(want.Raw, asked)
		if err != nil || in != nil || reject.Key() != want.Key() || reject.ProviderID != want.ProviderID {
			t.Errorf("%+v, %+v, %v, want %+v", in, reject, err, want)
		}
	}
	if page.Rejects[0].Reason != record.MissingField || page.Rejects[1].Reason != record.BadItem {
		t.Errorf("%+v", page.Rejects)
	}
	if _, _, err := r.Item([]byte(`{"id": "a"}, {"id": "b"}`), asked); err == nil {
		t.Error("two items are read as one")
	}
	c.Format, c.Items, c.Total, c.MustHave = document.FormatCSV, path("$"), Selector{}, nil
	rows, err := Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := rows.Item([]byte("a,b"), asked); err == nil || rows.StandsAlone() {
		t.Error("a row without its header was read")
	}
}
