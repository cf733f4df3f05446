package executor

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

const rejecting = `
    request: {path: /list, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", size: "${page.size}"}}
    paging: {type: OFFSET, size: 10, stable: true}
    response: {items: $.ids, id: $, total: $.total}
    details: {endpoint: fetch, batchSize: 10}
  fetch:
    role: DETAIL
    request: {path: /fetch, query: {ids: "${join(ids, ',')}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, fields: {title: "%TITLE%"}, required: [title]}
`

const (
	brokenTitle = "$.title"
	mendedTitle = "${coalesce(jsonPath('$.title'), jsonPath('$.name'))}"
)

var (
	byQuarantine = refresh.Spec{Policy: refresh.ByQuarantine}
	hand         = ingest.Dataset{Source: "hand", Endpoint: "works"}
)

// titled compiles the source with a path of the title.
func (l *library) titled(op ingest.Operation, title string) *spec.Compiled {
	l.Helper()
	src, _, err := registry.Decode("hand.yaml", []byte(fmt.Sprintf(handHead, l.address)+strings.ReplaceAll(rejecting, "%TITLE%", title)))
	l.must(err)
	resolved, err := registry.Resolve(src, "works", string(op), nil)
	l.must(err)
	l.compiled, err = spec.Compile(resolved)
	l.must(err)
	return l.compiled
}

// thirds is a library in which every third thing calls its title a name, harvested
// with a mapping that does not know.
func thirds(t *testing.T, keep bool) *library {
	t.Helper()
	l := newLibrary(t, things(30))
	l.list.fetch = func(_ *list, _ *http.Request, asked []thing) any {
		items := []map[string]any{}
		for _, a := range asked {
			word := "title"
			if a.ID[3]%3 == 0 {
				word = "name"
			}
			items = append(items, map[string]any{"id": a.ID, "updated": a.Updated, word: "of " + a.ID})
		}
		return map[string]any{"items": items}
	}
	kept := l.bodies
	if !keep {
		l.bodies = nil
	}
	l.plan(l.titled(ingest.Harvest, brokenTitle), plannerDay())
	l.work(ingest.Harvest)
	l.bodies = kept
	return l
}

func plannerDay() planner.Request { return planner.Request{From: &dayFrom, To: &dayTo} }

func (l *library) putBack() int {
	l.Helper()
	done, _, err := l.store.RequeueRejects(l.Context(), ingest.RejectPick{Dataset: hand}, ingest.Act{Actor: "me", Reason: "test"})
	l.must(err)
	l.clock.advance(time.Second)
	return done.Changed
}

// rejected are the rows by state.
func (l *library) rejected() map[string][]view.Reject {
	l.Helper()
	all, err := l.store.RejectList(l.Context(), view.RejectFilter{Limit: 1000})
	l.must(err)
	out := map[string][]view.Reject{}
	for _, r := range all {
		out[r.Status] = append(out[r.Status], r)
	}
	return out
}

// What was rejected is read again under the mapping of today, whether its answer is
// kept or only the item, and nobody is asked.
func TestRejectedItemsAreReadAgain(t *testing.T) {
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprint("answers kept: ", kept), func(t *testing.T) {
			l := thirds(t, kept)
			bad := len(l.rejected()["OPEN"])
			if bad == 0 || len(l.records()) != 30-bad {
				t.Fatalf("%d rejected, %d stored", bad, len(l.records()))
			}
			requests := l.list.calls["/fetch"] + l.list.calls["/list"]
			for tries := 1; tries <= 2; tries++ { // the file is still broken
				if n := l.putBack(); n != bad {
					t.Fatalf("%d were put back", n)
				}
				l.update(l.titled(ingest.Update, brokenTitle), byQuarantine)
				open := l.rejected()["OPEN"]
				if len(open) != bad || open[0].Attempts != tries || l.total().Quarantined != bad || !l.total().Balanced() {
					t.Errorf("%d open, %+v, %s", len(open), open[0], l.story())
				}
			}
			l.putBack()
			l.update(l.titled(ingest.Update, "$.other"), byQuarantine) // broken in another way: the same rows, for another reason
			if open := l.rejected()["OPEN"]; len(open) != bad || open[0].Path != "$.other" || open[0].JudgedBy == 0 {
				t.Errorf("%+v", open)
			}
			l.putBack()
			l.update(l.titled(ingest.Update, mendedTitle), byQuarantine)
			if s := l.total(); s.Inserted != bad || s.Refresh.Remapped != bad || s.Requests != 0 || len(l.records()) != 30 {
				t.Errorf("%+v, %d records", s, len(l.records()))
			}
			if n := l.list.calls["/fetch"] + l.list.calls["/list"]; n != requests {
				t.Errorf("%d requests", n-requests)
			}
			all := l.rejected()
			if len(all["RESOLVED"]) != bad || len(all) != 1 {
				t.Errorf("%+v", all)
			}
			stored := l.records()
			for _, r := range all["RESOLVED"] { // the item of then is as old as it is (I3)
				if !stored[r.ProviderID].FetchAt.Equal(r.FetchAt) || r.FetchAt.After(r.FirstSeen) {
					t.Errorf("%s: fetched at %s, the item at %s", r.ProviderID, stored[r.ProviderID].FetchAt, r.FetchAt)
				}
			}
			l.isolated()
			if again := l.update(l.titled(ingest.Update, mendedTitle), byQuarantine); !again.Empty {
				t.Errorf("there is still something to do: %v", again.Explain)
			}
		})
	}
}

// An id whose detail never came can only be asked for.
func TestMissingDetailsAreAskedForAgain(t *testing.T) {
	l := newLibrary(t, things(20))
	hide := []string{"t003", "t007"}
	l.list.fetch = func(_ *list, _ *http.Request, asked []thing) any {
		items := []map[string]any{}
		for _, a := range asked {
			if !slices.Contains(hide, a.ID) {
				items = append(items, map[string]any{"id": a.ID, "updated": a.Updated, "title": a.ID})
			}
		}
		return map[string]any{"items": items}
	}
	l.plan(l.titled(ingest.Harvest, brokenTitle), plannerDay())
	l.work(ingest.Harvest)
	if open := l.rejected()["OPEN"]; len(open) != 2 || open[0].Reason != "MISSING_DETAIL" {
		t.Fatalf("%+v", open)
	}
	hide = hide[:1]
	l.putBack()
	l.update(l.titled(ingest.Update, brokenTitle), byQuarantine)
	all := l.rejected()
	if len(all["OPEN"]) != 1 || len(all["RESOLVED"]) != 1 || all["OPEN"][0].ProviderID != "t003" || all["OPEN"][0].Attempts != 1 || all["RESOLVED"][0].JudgedBy == 0 {
		t.Errorf("%+v, %s", all, l.story())
	}
	if len(l.records()) != 19 || l.records()["t003"].ID != "" {
		t.Errorf("%d records", len(l.records()))
	}
	hide = nil
	l.putBack()
	l.update(l.titled(ingest.Update, brokenTitle), byQuarantine)
	if all := l.rejected(); len(all["RESOLVED"]) != 2 || len(l.records()) != 20 {
		t.Errorf("%+v", all)
	}
	l.isolated()
}

// What was mended upstream is asked for, also where the bad item is kept; and a
// record that comes by any other way settles its reject.
func TestRejectsMendedUpstream(t *testing.T) {
	l := thirds(t, true)
	bad := l.rejected()["OPEN"]
	l.list.fetch = func(_ *list, _ *http.Request, asked []thing) any {
		items := []map[string]any{}
		for _, a := range asked {
			items = append(items, map[string]any{"id": a.ID, "updated": a.Updated, "title": "now of " + a.ID})
		}
		return map[string]any{"items": items}
	}
	l.clock.advance(time.Minute)
	l.signal(refresh.Merge, bad[0].ProviderID)
	l.update(l.titled(ingest.Update, brokenTitle), refresh.Spec{Policy: refresh.BySignal})
	if done := l.rejected()["RESOLVED"]; len(done) != 1 || done[0].ID != bad[0].ID {
		t.Errorf("%+v", done)
	}
	l.putBack()
	asking := byQuarantine
	asking.Ask = true
	l.update(l.titled(ingest.Update, brokenTitle), asking)
	if s := l.total(); s.Refresh.Checked != len(bad)-1 || s.Refresh.Remapped != 0 {
		t.Errorf("%+v", s)
	}
	if all := l.rejected(); len(all["RESOLVED"]) != len(bad) || len(l.records()) != 30 {
		t.Errorf("%+v", all)
	}
	l.isolated()
}

// An answer that got lost is asked for once more, and nothing stands twice.
func TestRereadingSurvivesALostAnswer(t *testing.T) {
	l := thirds(t, true)
	bad := len(l.rejected()["OPEN"])
	l.putBack()
	l.wire.lose["commit batch"] = 2 // both tries: the run ends, another one goes on
	l.update(l.titled(ingest.Update, mendedTitle), byQuarantine)
	if all := l.rejected(); len(all["RESOLVED"]) != bad || len(all) != 1 || len(l.records()) != 30 {
		t.Errorf("%+v, %s", all, l.story())
	}
	for id, r := range l.records() {
		if r.Version != 1 {
			t.Errorf("%s has version %d", id, r.Version)
		}
	}
	l.isolated()
}
