package daemon

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
)

// What was measured last is told to a viewer; one who is limited to sources hears of those alone.
func TestSizesAreToldAsTheyWereMeasured(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		p := newPrograms(t, database)
		read := func(by access.Caller) (out view.Sizes) {
			t.Helper()
			status, body := p.call(http.MethodGet, "/v1/sizes", "", by)
			if err := json.Unmarshal(body, &out); err != nil || status != http.StatusOK {
				t.Fatalf("%d %v %s", status, err, body)
			}
			return out
		}
		if got := read(admin); !got.At.IsZero() || len(got.Records) != 0 {
			t.Errorf("nothing was measured: %+v", got)
		}
		measured, err := p.app.store.MeasureSize(t.Context(), true)
		p.must(err)
		p.must(p.app.store.NoteSize(t.Context(), measured))
		got := read(access.Caller{Name: "v", TokenID: 3, Role: access.Viewer})
		var want []view.RecordSize
		for _, of := range measured.Sources {
			if of.PerRecord > 0 { // a server tells of a small database that it is empty
				want = append(want, view.RecordSize{Source: of.Source, Endpoint: of.Endpoint, PerRecord: of.PerRecord})
			}
		}
		if got.At.IsZero() || got.Bytes != measured.Bytes || !slices.Equal(got.Records, want) {
			t.Errorf("%+v, measured %+v", got, measured)
		}
		if got := read(access.Caller{Name: "o", TokenID: 4, Role: access.Admin, Sources: []string{"pubmed"}}); got.Bytes != 0 || len(got.Records) != 0 {
			t.Errorf("of another source: %+v", got)
		}
	})
}
