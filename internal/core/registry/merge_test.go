package registry

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/paging"
)

func TestPrecedence(t *testing.T) {
	size := Path{"paging", "size"}
	levels := []Level{LevelPlatform, LevelProvenance, LevelEndpoint, LevelSection, LevelOperation, LevelOverride}
	for weak := range levels {
		for strong := weak + 1; strong < len(levels); strong++ {
			at := Position{"f.yaml", strong + 1, 1}
			merged := Merge( // the order of the arguments must not matter
				Layer{levels[strong], []Leaf{{Path: size, Value: strong, At: at}}},
				Layer{levels[weak], []Leaf{{Path: size, Value: weak}, {Path: Path{"paging", "maxPages"}, Value: 7}}},
			)
			sections := merged.Sections()
			if sections.Paging.Size != strong || sections.Paging.MaxPages != 7 {
				t.Errorf("%s over %s: %+v", levels[strong], levels[weak], *sections.Paging)
			}
			if origin := merged.Origin("paging.size"); !strings.HasPrefix(origin, levels[strong].String()) {
				t.Errorf("%s over %s: origin %q", levels[strong], levels[weak], origin)
			}
		}
	}
}

func TestMapsMergeAndListsReplace(t *testing.T) {
	src := decode(t, string(read(t, "testdata/good/layers.yaml")))
	backfill, err := Resolve(src, "works", "BACKFILL", nil)
	if err != nil {
		t.Fatal(err)
	}
	if h := backfill.HTTP.Headers; len(h) != 2 || h["Accept"] != "application/json" || h["X-From"] != "endpoint" {
		t.Errorf("headers %v", h)
	}
	if s := backfill.Retry.RetryStatus; len(s) != 1 || s[0] != 500 {
		t.Errorf("retryStatus %v", s)
	}
	if backfill.HTTP.AllowHTTP {
		t.Error("allowHttp: false of the endpoint did not win over true of the source")
	}
	if *backfill.Window.SafetyLag != 0 {
		t.Errorf("safetyLag %s, want none", backfill.Window.SafetyLag)
	}
}

func TestOrigins(t *testing.T) {
	src := decode(t, string(read(t, "testdata/good/layers.yaml")))
	set, err := ParseOverride("rate.perSecond=0.25")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Resolve(src, "works", "BACKFILL", []Override{set})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"http.baseUrl":                         "provenance (test.yaml:6:12)",
		"http.allowHttp":                       "section (test.yaml:18:18)",
		"paging.size":                          "operation (test.yaml:41:24)",
		"rate.perSecond":                       "override",
		"rate.burst":                           "platform",
		"window.lookback":                      "not set",
		"nobody.knows":                         "not set",
		`request.query["query.bibliographic"]`: "endpoint (test.yaml:23:32)",
	} {
		if got := r.Origin(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if r.Rate.PerSecond != 0.25 {
		t.Errorf("perSecond %v", r.Rate.PerSecond)
	}
}

// Zero means "not declared" to the sections, so the default decides.
func TestOriginOfAZeroThatBecameADefault(t *testing.T) {
	src := decode(t, minimalText+"    rate: {burst: 0}\n")
	r, err := Resolve(src, "list", "HARVEST", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Origin("rate.burst"); r.Rate.Burst != 1 || got != "platform" {
		t.Errorf("burst %d from %s", r.Rate.Burst, got)
	}
}

func TestResolveRefuses(t *testing.T) {
	src := decode(t, minimalText)
	for _, tt := range []struct{ endpoint, operation, says string }{
		{"lists", "HARVEST", `did you mean "list"?`},
		{"list", "harvest", `did you mean "HARVEST"?`},
		{"list", "METRICS", "operations: HARVEST, BACKFILL, UPDATE"},
	} {
		if _, err := Resolve(src, tt.endpoint, tt.operation, nil); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s %s: %v", tt.endpoint, tt.operation, err)
		}
	}
}

// A source that code built or changed is resolved by what its fields say now.
func TestTypedFieldsRule(t *testing.T) {
	src := decode(t, string(read(t, "testdata/good/layers.yaml")))
	src.HTTP.BaseURL = "https://other.example.org"
	src.HTTP.AllowHTTP = false
	delete(src.Endpoints, "byid")
	r, err := Resolve(src, "works", "HARVEST", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.HTTP.BaseURL != "https://other.example.org" || r.Origin("http.baseUrl") != "provenance" {
		t.Errorf("%s from %s", r.HTTP.BaseURL, r.Origin("http.baseUrl"))
	}
	delete(src.Endpoints, "works") // with its allowHttp: false
	for _, row := range Rows(src) {
		if row.Endpoint != "" {
			t.Errorf("a deleted endpoint has row %v", row)
		}
	}
	built := &Source{Code: "built", Name: "Built", Endpoints: map[string]Endpoint{"e": {Role: "SEARCH", Sections: Sections{
		HTTP: &exchange.Config{BaseURL: "https://x.example.org"}, Paging: &paging.Config{Type: paging.Token},
	}}}}
	if r, err = Resolve(built, "e", "UPDATE", nil); err != nil || r.Paging.Type != paging.Token || r.Paging.Size != 100 {
		t.Errorf("%+v, %v", r, err)
	}
	sameLeaves(t, built, throughRows(t, built))
}

func TestOverrides(t *testing.T) {
	good := map[string]string{
		"http.baseUrl=http://127.0.0.1:9/?a=b": "http://127.0.0.1:9/?a=b",
		"http.timeout=5s":                      "PT5S",
		"paging.size=7":                        "7",
		"rate.perSecond=0.5":                   "0.5",
		"paging.replayable=true":               "true",
		"retry.retryStatus=[429, 503]":         "[429, 503]",
		"response.mustHave=['$.a', $.b]":       "[$.a, $.b]",
		`request.query["a.b=c"]=x`:             "x",
		"request.query.filter=":                "",
		"response.id=$.doi":                    "$.doi",
		"paging.type=TOKEN":                    "TOKEN",
	}
	for text, want := range good {
		o, err := ParseOverride(text)
		if err != nil || textOf(o.Value) != want {
			t.Errorf("%s: %v, %v", text, o.Value, err)
		}
	}
	bad := map[string]string{
		"http.baseURL=x":        `did you mean "baseUrl"?`,
		"htpp.baseUrl=x":        `did you mean "http"?`,
		"baseUrl=x":             `it belongs under "http"`,
		"http.timeout=soon":     "expected ISO-8601",
		"paging.size=big":       "expected a whole number",
		"paging.size=1.5":       "expected a whole number",
		"paging.size=-1":        "negative",
		"rate.perSecond=NaN":    "expected a number",
		"http.allowHttp=yes":    "expected true or false",
		"paging.type=token":     `did you mean "TOKEN"?`,
		"retry.retryStatus=429": "expected a list",
		"retry.retryStatus=[":   "not valid YAML",
		"http=x":                "name a key below it",
		"http.timeout.x=1":      "is a value, not a section",
		"http.timeout":          "there is no =",
		"=x":                    "a key is empty",
		"":                      "a key is empty",
		`request.query["a=b`:    "no closing quote",
		`request.query["a"]b=c`: "expected a dot",
	}
	for text, says := range bad {
		if o, err := ParseOverride(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v, want %q", text, o, err, says)
		}
	}
}

func TestOverrideProblemNamesTheOverride(t *testing.T) {
	src := decode(t, string(read(t, "testdata/good/minimal.yaml")))
	o, err := ParseOverride("http.baseUrl=http://127.0.0.1:9/")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Resolve(src, "list", "HARVEST", []Override{o})
	if err != nil {
		t.Fatal(err)
	}
	want := "override http.baseUrl: http.baseUrl: E-HTTPS: plain http is refused"
	if got := r.Validate().Error(); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
		t.Errorf("%s", got)
	}
}
