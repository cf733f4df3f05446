package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/upsim"
)

// grouped is a source with a slow rate and a rate group.
func grouped(code, group string) string {
	return `source: ` + code + `
name: A source of somebody else
http: {baseUrl: "https://` + code + `.example.org"}
rate: {perSecond: 0.01, group: ` + group + `}
endpoints:
  books:
    role: SEARCH
    request: {path: /books, query: {from: "${filter.from}", to: "${filter.to}", rows: "${page.size}", cursor: "${page.token}"}}
    filter: {field: updated}
    paging: {type: TOKEN}
    response: {items: $.items, id: $.id, updatedAt: $.updated, nextToken: $.next}
`
}

func (w *world) file(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// A file cannot make another source its group; a group is those who name it, and
// who applies a file is told who they are.
func TestTrust06RateGroups(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 3, PerDay: 2}, upsim.Options{})
		stranger := grouped("stranger", "crossref")
		for _, verb := range []string{"validate", "apply", "diff"} {
			args := []string{"source", verb, w.file("stranger.yaml", stranger)}
			if code, out, errText := w.patra(args...); code != 2 || !strings.Contains(errText, "E-RATE-GROUP") {
				t.Errorf("%v: exit %d: %s%s", args[:2], code, out, errText)
			}
		}
		w.must("source", "apply", w.file("shelf.yaml", grouped("shelf", "library")))
		code, _, errText := w.patra("source", "apply", w.file("own.yaml", grouped("own", "shelf"))) // a source of this database
		if code != 2 || !strings.Contains(errText, "shelf is a source") {
			t.Errorf("exit %d: %s", code, errText)
		}
		for _, more := range []string{"--dry-run", "--reason=x"} {
			code, out, errText := w.patra("source", "apply", w.file("stand.yaml", grouped("stand", "library")), more)
			if code != 0 || !strings.Contains(errText, "stand: shares the rate group library with shelf") {
				t.Errorf("exit %d: %s%s", code, out, errText)
			}
		}
		w.slips(stranger)
		w.unharmed()
	})
}

// slips writes a source past all checks, as a database of somebody else may hold one.
func (w *world) slips(text string) {
	w.t.Helper()
	src, _, err := registry.Decode("stranger.yaml", []byte(text))
	if err == nil {
		_, err = w.open().Definitions.Apply(w.t.Context(), src, registry.ApplyOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// unharmed: crossref has the rate of its own file, and the group all that name it.
func (w *world) unharmed() {
	w.t.Helper()
	var keys []view.RateKey
	w.decode(w.must("rate", "list", "-o", "json"), &keys)
	seen := 0
	for _, k := range keys {
		switch k.Key {
		case "crossref":
			seen++
			if k.Limits.PerSecond < 1 || len(k.Uses) == 0 || k.Uses[0].Source != "crossref" {
				w.t.Errorf("crossref is slowed down: %+v", k)
			}
		case "@library":
			if seen++; len(k.Uses) != 2 {
				w.t.Errorf("%+v", k)
			}
		}
	}
	if seen != 2 {
		w.t.Errorf("%d of the keys are there: %+v", seen, keys)
	}
}

// decode reads a list, in either of its forms.
func (w *world) decode(text string, to any) {
	w.t.Helper()
	var page struct{ Items json.RawMessage }
	if json.Unmarshal([]byte(text), &page) == nil && page.Items != nil {
		text = string(page.Items)
	}
	if err := json.Unmarshal([]byte(text), to); err != nil {
		w.t.Fatalf("%v: %s", err, text)
	}
}
