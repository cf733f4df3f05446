package webui

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// listening notes what is asked for.
type listening struct {
	quiet
	asked *[]view.SourceMapQuery
}

func (l listening) SourceMap(ctx context.Context, q view.SourceMapQuery) (view.SourceMap, error) {
	*l.asked = append(*l.asked, q)
	return l.quiet.SourceMap(ctx, q)
}

// TestSourceIsMappedAtOnce opens the map of a source: all its scales come from one look at the
// store, and the place that the address names is asked for.
func TestSourceIsMappedAtOnce(t *testing.T) {
	var asked []view.SourceMapQuery
	reader := listening{quiet{lines: []view.CoverageLine{{Source: "src", Endpoint: "e"}}}, &asked}
	h := New(Settings{CallerOf: func(context.Context) access.Caller { return access.Caller{Name: "n", Role: access.Admin} }, Clock: quiet{}, Readers: Readers{Status: quiet{}, Coverage: reader}})
	third := time.Date(2019, 9, 3, 0, 0, 0, 0, time.UTC)
	for path, want := range map[string]view.SourceMapQuery{
		"/coverage/src":            {},
		"/coverage/src/2019":       {Year: 2019},
		"/coverage/src/2019-09-03": {Year: 2019, Range: window.Window{From: third, To: third.AddDate(0, 0, 1)}},
	} {
		asked = nil
		if w := fetch(h, http.MethodGet, path, nil); w.Code != http.StatusOK {
			t.Fatalf("%s answers %d", path, w.Code)
		}
		if len(asked) != 1 || asked[0].Year != want.Year || asked[0].Range != want.Range {
			t.Errorf("%s asks for %+v, want once for %+v", path, asked, want)
		}
	}
}
