package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/upsim"
)

// Changing a source while a harvest runs changes nothing in that harvest: after
// planning, only the snapshot is read (I10). The next one uses the change.
func TestApplyDuringAHarvest(t *testing.T) {
	d := newDesk(t)
	upstream, err := upsim.NewServer(upsim.NewDataset(upsim.Config{Seed: 7, From: march(1), To: march(8), PerDay: 12, Flat: true}), upsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var changed string
	var change sync.Once
	var seen sync.Map // sizes of pages that were asked for
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") != "*" {
			change.Do(func() {
				if r := d.run("source", "apply", changed); r.code != term.ExitOK || !strings.Contains(r.out, source.OutcomeApplied) {
					t.Errorf("apply while a harvest runs: %+v", r)
				}
			})
		}
		if rows := r.URL.Query().Get("rows"); rows != "1" { // that is a count for the plan
			seen.Store(rows+" "+r.URL.Query().Get("mailto"), true)
		}
		upstream.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	local := []string{"baseUrl: https://api.crossref.org", "baseUrl: " + server.URL + "\n  allowPrivate: true", "perSecond: 3", "perSecond: 1000"}
	changed = d.crossrefFile("changed.yaml", append([]string{"size: 500", "size: 7", "rate:", "contact: {email: new@example.org}\nrate:"}, local...)...)
	d.rows(d.crossrefFile("first.yaml", append([]string{"size: 500", "size: 5"}, local...)...))
	sizes := func() (out []string) {
		seen.Range(func(key, _ any) bool {
			out = append(out, key.(string))
			seen.Delete(key)
			return true
		})
		return out
	}
	d.expect(term.ExitOK, "harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-04")
	if got := strings.Join(sizes(), ", "); got != "5 " {
		t.Errorf("the harvest that ran asked with %q", got)
	}
	d.expect(term.ExitOK, "harvest", "crossref", "--to", "2025-03-05")
	if got := strings.Join(sizes(), ", "); got != "7 new@example.org" {
		t.Errorf("the next harvest asked with %q", got)
	}
}
