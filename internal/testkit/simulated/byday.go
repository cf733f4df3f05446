package simulated

import (
	"testing"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/registry"
)

// CrossrefByDay is the bundled source as it would be if its filter knew days
// only: read a day back and cut by length, as many sources are.
func CrossrefByDay(t testing.TB) *registry.Source {
	t.Helper()
	text, err := catalog.Read("crossref")
	if err != nil {
		t.Fatal(err)
	}
	src, _, err := registry.Decode(catalog.File("crossref"), text)
	if err != nil {
		t.Fatal(err)
	}
	ByDay(src)
	return src
}

// ByDay changes the decoded source alike.
func ByDay(crossref *registry.Source) {
	works := crossref.Endpoints["works"]
	works.Filter.Precision, works.Filter.FormerPrecision, works.Filter.Format = query.Day, "", ""
	works.Window.Lookback, works.Window.MinWindow = duration.Day, 0
	works.Slicing.MaxPages, works.Slicing.MinStep = 0, 0
}
