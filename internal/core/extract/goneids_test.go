package extract

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
)

// An item that names records that are gone becomes a tombstone for each, and each counts. What is no id is a reject.
func TestListOfGoneIDs(t *testing.T) {
	config := Config{Format: document.FormatXML, Items: path("$.set['article','deleted']"), ID: sel("$.id['#text']"), GoneIDs: sel("$.pmid[*]['#text']")}
	reader, err := Compile(config.WithDefaults())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	body := `<set><article><id v="1">7</id></article><article><id>8</id></article><deleted><pmid Version="1">7</pmid><pmid Version="1"> 9 </pmid><pmid Version="1"></pmid></deleted></set>`
	page, err := reader.Read([]byte(body), Asked{FetchAt: at, MappingID: 4})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, in := range page.Records {
		got[in.ProviderID] = in.Gone
		if !in.FetchAt.Equal(at) || in.MappingID != 4 {
			t.Errorf("%+v", in)
		}
	}
	// 7 is in the same answer and deleted: the deletion stands.
	if len(page.Records) != 3 || !got["7"] || got["8"] || !got["9"] {
		t.Errorf("records: %v", got)
	}
	if len(page.Rejects) != 1 || page.Rejects[0].Reason != record.MissingID {
		t.Errorf("rejects: %+v", page.Rejects)
	}
	if page.Seen != 5 || page.Says.Items != 3 || page.Duplicate != 1 || len(page.Keys) != 5 || page.Seen != len(page.Records)+len(page.Rejects)+page.Duplicate {
		t.Errorf("seen %d, items %d, duplicate %d, keys %d", page.Seen, page.Says.Items, page.Duplicate, len(page.Keys))
	}
	one, err := reader.Read([]byte(`<set><deleted><pmid Version="1">11</pmid></deleted></set>`), Asked{FetchAt: at})
	if err != nil || len(one.Records) != 1 || one.Records[0].ProviderID != "11" || !one.Records[0].Gone || one.Says.Items != 1 {
		t.Errorf("one: %+v, %v", one, err)
	}
	if _, err := Compile(Config{Items: config.Items, ID: config.ID, GoneIDs: sel("${jsonPath('$.x')}")}.WithDefaults()); err == nil {
		t.Error("a template is taken")
	}
}
