package catalog_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
)

func bundled(t *testing.T, code string) *registry.Source {
	t.Helper()
	text, err := catalog.Read(code)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, catalog.File(code), text)
}

// definition is a source of testdata/definitions: shapes of answers that no
// bundled endpoint asks for.
func definition(t *testing.T, code string) *registry.Source {
	t.Helper()
	file := filepath.Join("testdata", "definitions", code+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return decoded(t, file, text)
}

func decoded(t *testing.T, file string, text []byte) *registry.Source {
	t.Helper()
	src, _, err := registry.Decode(file, text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return src
}

func resolved(t *testing.T, src *registry.Source, endpoint, operation string, overrides []string) *registry.Resolved {
	t.Helper()
	var set []registry.Override
	for _, text := range overrides {
		o, err := registry.ParseOverride(text)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, o)
	}
	r, err := registry.Resolve(src, endpoint, operation, set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func compiled(t *testing.T, src *registry.Source, endpoint, operation string, overrides ...string) *spec.Compiled {
	t.Helper()
	r := resolved(t, src, endpoint, operation, overrides)
	c, err := spec.Compile(r)
	if err != nil {
		t.Fatalf("%s/%s %s: %v", src.Code, endpoint, operation, err)
	}
	return c
}

func program(t *testing.T, src *registry.Source, endpoint string, overrides ...string) *spec.Program {
	t.Helper()
	c := compiled(t, src, endpoint, src.Operates(endpoint)[0], overrides...)
	p, err := c.Snapshot.Program()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryBundledSourceIsGood(t *testing.T) {
	want := []string{"arxiv", "arxivoai", "biorxiv", "clinicaltrials", "core", "crossref", "datacite", "dblp", "dimensions", "doaj", "europepmc", "figshare", "github", "hal", "inspirehep", "jstage", "lens", "nasaads", "openaire", "openalex", "openalexfiles", "opencitations", "orcid", "orciddump", "pmc", "pubmed", "pubmedfiles", "ror", "rordump", "s2datasets", "scielo", "scopus", "semanticscholar", "unpaywall", "unpaywallfeed", "wikidata", "zenodo"}
	if got := catalog.List(); !slices.Equal(got, want) {
		t.Errorf("List() = %v, want %v", got, want)
	}
	for _, code := range catalog.List() {
		src := bundled(t, code)
		if text, err := catalog.Read(code); err != nil || !strings.Contains(string(text), "Licence: ") {
			t.Errorf("%s does not say under which licence its records are, %v", code, err)
		}
		byID := false
		for _, e := range src.Endpoints {
			byID = byID || e.Role == "DETAIL"
		}
		if text, err := catalog.Read(code); err != nil || byID == strings.Contains(string(text), "# There is no UPDATE by id: ") {
			t.Errorf("%s has an endpoint that is asked by id: %t. If it has none, it says why (There is no UPDATE by id: …), %v", code, byID, err)
		}
		if src.Code != code {
			t.Errorf("%s holds source %q", catalog.File(code), src.Code)
		}
		checkSource(t, src)
	}
}

func TestEveryDefinitionForTestsIsGood(t *testing.T) {
	files, err := filepath.Glob("testdata/definitions/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		checkSource(t, definition(t, strings.TrimSuffix(filepath.Base(file), ".yaml")))
	}
}

func checkSource(t *testing.T, src *registry.Source) {
	t.Helper()
	if problems := src.Validate(); len(problems) > 0 {
		t.Errorf("%s:\n%v", src.Code, problems)
		return
	}
	for _, endpoint := range slices.Sorted(maps.Keys(src.Endpoints)) {
		for _, operation := range src.Operates(endpoint) {
			if c := compiled(t, src, endpoint, operation); len(c.Fingerprint) != 64 {
				t.Errorf("%s/%s %s: fingerprint %q", src.Code, endpoint, operation, c.Fingerprint)
			}
		}
	}
}

// What a source cannot do is said in every plan; a new warning is a change of
// its file that somebody should have noticed.
func TestWarnings(t *testing.T) {
	for _, tc := range []struct{ code, endpoint, want string }{
		{"arxiv", "papers", "W-NO-FILTERED W-UNSTABLE-ORDER"},
		{"biorxiv", "biorxiv", "W-UNSTABLE-ORDER"},
		{"biorxiv", "medrxiv", "W-UNSTABLE-ORDER"},
		{"clinicaltrials", "studies", ""},
		{"crossref", "works", ""},
		{"datacite", "dois", ""},
		{"doaj", "articles", "W-UNSTABLE-ORDER"},
		{"europepmc", "articles", "W-NO-FILTERED"},
		{"openalex", "works", ""},
		{"pmc", "records", "W-TOTAL-ESTIMATE W-LONG-WALK"},
		{"pubmed", "articles", "W-NO-FILTERED W-ANONYMOUS"},
		{"semanticscholar", "papers", "W-TOTAL-ESTIMATE W-WHOLE-LIST W-NO-UPDATED-AT W-ANONYMOUS"},
	} {
		src := bundled(t, tc.code)
		var got []string
		for _, w := range compiled(t, src, tc.endpoint, src.Operates(tc.endpoint)[0]).Warnings {
			got = append(got, w.Code)
		}
		if text := strings.Join(got, " "); text != tc.want {
			t.Errorf("%s/%s: warnings %q, want %q", tc.code, tc.endpoint, text, tc.want)
		}
	}
}

func TestUnknownSource(t *testing.T) {
	for _, code := range []string{"nobody", "", "../crossref", "crossref.yaml"} {
		if _, err := catalog.Read(code); err == nil || !strings.Contains(err.Error(), "crossref") {
			t.Errorf("Read(%q): %v", code, err)
		}
	}
}

// refusal is why an endpoint cannot be compiled with these overrides.
func refusal(t *testing.T, src *registry.Source, endpoint string, overrides ...string) string {
	t.Helper()
	_, err := spec.Compile(resolved(t, src, endpoint, "HARVEST", overrides))
	if err == nil {
		t.Fatalf("%v was compiled", overrides)
	}
	return err.Error()
}

// The NCBI asks for large jobs at night and on weekends: a backfill obeys, in both
// of its steps, and what follows the present does not wait for the evening.
func TestBackfillsOfPubMedLeaveAtNight(t *testing.T) {
	noon := time.Date(2025, 3, 12, 12, 0, 0, 0, time.FixedZone("EDT", -4*3600)) // a Wednesday
	for operation, open := range map[string]bool{"HARVEST": true, "UPDATE": true, "BACKFILL": false} {
		c, err := spec.Compile(resolved(t, bundled(t, "pubmed"), "articles", operation, nil))
		if err != nil {
			t.Fatal(err)
		}
		for step, limits := range map[string]gate.Limits{"search": c.Snapshot.Rate, "details": c.Snapshot.Detail.Rate} {
			hours, err := gate.ParseHours(limits.Hours)
			if err != nil || hours.Open(noon) != open || !hours.Open(noon.Add(12*time.Hour)) || !hours.Open(noon.AddDate(0, 0, 3)) {
				t.Errorf("%s, %s: %q, %v", operation, step, limits.Hours, err)
			}
		}
	}
}
