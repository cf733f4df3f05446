package daemon

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
)

// A source is compiled for its consent only if it can name a secret at all: wherever it may
// name one, that has to be seen, also after it was stored and read back.
func TestUntrustedSeesEveryPlaceOfASecret(t *testing.T) {
	app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	const base = `source: NAME
name: Somebody's
http: {baseUrl: https://api.example.org}
endpoints:
  works:
    role: SEARCH
    request:
      path: /works
      query: {from: "${filter.from}", to: "${filter.to}", cursor: "${page.token}"}
    filter: {field: updated}
    paging: {type: TOKEN}
    response: {items: $.items, id: $.id, updatedAt: $.updated, nextToken: $.next}
`
	proxy := "http: {proxy: 'env:SOMEBODYS_PROXY'}\n"
	for name, text := range map[string]string{
		"none":               base,
		"at-the-top":         strings.Replace(base, "http: {baseUrl", "http: {proxy: 'env:SOMEBODYS_PROXY', baseUrl", 1),
		"at-an-operation":    base + "operations:\n  BACKFILL:\n    " + proxy,
		"at-an-endpoint":     base + "    " + proxy,
		"below-its-endpoint": base + "    operations:\n      BACKFILL:\n        " + proxy,
		"credential":         base + "credentials:\n  key: {type: API_KEY, in: HEADER, name: X-Key, value: 'env:SOMEBODYS_KEY'}\nauth: {credential: key}\n",
	} {
		src, _, err := registry.Decode(name+".yaml", []byte(strings.Replace(text, "NAME", name, 1)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := app.store.ApplySource(t.Context(), src, registry.ApplyOptions{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		stopped, err := app.Untrusted(t.Context(), name)
		if err != nil || (len(stopped) > 0) != (name != "none") {
			t.Errorf("%s: %v; error %v", name, stopped, err)
		}
	}
}

// Who looks at the newest version of a source compiles it once.
func TestSnapshotOfADefinitionIsKept(t *testing.T) {
	app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close() })
	src, _, err := app.Source(t.Context(), "crossref")
	if err != nil {
		t.Fatal(err)
	}
	first, err := definitions{app}.OutlineSource(src)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := (definitions{app}).OutlineSource(src); err != nil || &again[0] != &first[0] {
		t.Errorf("compiled again: %v", err)
	}
	other := *src
	if again, err := (definitions{app}).OutlineSource(&other); err != nil || &again[0] == &first[0] {
		t.Errorf("another definition got the outline of this one: %v", err)
	}
}
