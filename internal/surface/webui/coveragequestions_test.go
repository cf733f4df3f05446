package webui

import (
	"context"
	"net/http"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
)

// listening notes what is asked for.
type listening struct {
	quiet
	asked *[]view.MapQuery
}

func (l listening) CoverageMap(ctx context.Context, q view.MapQuery) (view.CoverageMap, error) {
	*l.asked = append(*l.asked, q)
	return l.quiet.CoverageMap(ctx, q)
}

// TestTroublesAreAskedForOnce opens the map of a source: troubles cost questions of their own, and only
// those of the year are shown.
func TestTroublesAreAskedForOnce(t *testing.T) {
	var asked []view.MapQuery
	reader := listening{quiet{lines: []view.CoverageLine{{Source: "src", Endpoint: "e"}}}, &asked}
	h := New(Settings{CallerOf: func(context.Context) access.Caller { return access.Caller{Name: "n", Role: access.Admin} }, Clock: quiet{}, Readers: Readers{Status: quiet{}, Coverage: reader}})
	for path, want := range map[string]int{"/coverage/src": 2, "/coverage/src/2019": 2, "/coverage/src/2019-09-03": 3} {
		asked = nil
		if w := fetch(h, http.MethodGet, path, nil); w.Code != http.StatusOK {
			t.Fatalf("%s answers %d", path, w.Code)
		}
		troubles := 0
		for _, q := range asked {
			if q.Troubles {
				troubles++
				if q.Unit != view.MapDays || !q.Counts || q.Within.To.Year() != q.Within.From.Year()+1 {
					t.Errorf("%s asks for the troubles of %+v", path, q)
				}
			}
		}
		if troubles != 1 || len(asked) != want {
			t.Errorf("%s asks %+v", path, asked)
		}
	}
}
