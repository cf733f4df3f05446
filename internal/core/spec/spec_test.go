package spec

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/registry"
)

func decoded(t *testing.T, text string) *registry.Source {
	t.Helper()
	src, _, err := registry.Decode("source.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func bundled(t *testing.T, code string) string {
	t.Helper()
	text, err := catalog.Read(code)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func compile(t *testing.T, src *registry.Source, overrides ...string) *Compiled {
	t.Helper()
	var set []registry.Override
	for _, text := range overrides {
		o, err := registry.ParseOverride(text)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, o)
	}
	endpoint := ""
	for name, e := range src.Endpoints {
		if (e.Role == "SEARCH" || e.Role == "FILE" || src.StandsAlone(name)) && (endpoint == "" || name < endpoint) {
			endpoint = name
		}
	}
	resolved, err := registry.Resolve(src, endpoint, src.Operates(endpoint)[0], set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compile(resolved)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// backwards writes a YAML document again with the keys of every mapping in
// reverse order.
func backwards(t *testing.T, text string) string {
	t.Helper()
	var root yaml.MapSlice
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(reversed(root))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func reversed(value any) any {
	in, ok := value.(yaml.MapSlice)
	if !ok {
		return value
	}
	out := make(yaml.MapSlice, len(in))
	for i, pair := range in {
		out[len(in)-1-i] = yaml.MapItem{Key: pair.Key, Value: reversed(pair.Value)}
	}
	return out
}

func TestFingerprintIsStable(t *testing.T) {
	for _, code := range catalog.List() {
		text := bundled(t, code)
		src := decoded(t, text)
		want := compile(t, src)
		if len(want.Fingerprint) != 64 || len(want.MappingHash) != 64 {
			t.Errorf("%s: fingerprint %q, mapping %q", code, want.Fingerprint, want.MappingHash)
		}
		stored, err := registry.FromRows(registry.Rows(src))
		if err != nil {
			t.Fatal(err)
		}
		turned := backwards(t, text)
		if strings.Index(turned, "source:") < strings.Index(turned, "endpoints:") {
			t.Fatalf("the keys were not reordered:\n%s", turned)
		}
		for name, other := range map[string]*registry.Source{
			"the same again":  src,
			"decoded again":   decoded(t, text),
			"reordered keys":  decoded(t, turned),
			"through the db":  stored,
			"other comments":  decoded(t, "# a remark\n"+text+"\n# another\n"),
			"other line ends": decoded(t, strings.ReplaceAll(text, "\n", "\r\n")),
		} {
			got := compile(t, other)
			if got.Fingerprint != want.Fingerprint || got.MappingHash != want.MappingHash || string(got.Canonical) != string(want.Canonical) {
				t.Errorf("%s, %s: the fingerprint differs:\n%s\n%s", code, name, got.Canonical, want.Canonical)
			}
		}
	}
}

// I10: what is executed is what was planned, also after a round trip through the store.
func TestLoadedSnapshotIsTheSame(t *testing.T) {
	want := compile(t, decoded(t, bundled(t, "crossref")), "contact.email=me@example.org", "paging.size=77")
	loaded, err := Load(want.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(loaded)
	if err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(want.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(before) {
		t.Errorf("loaded\n%s\nstored\n%s", again, before)
	}
	if loaded.Paging.Size != 77 || loaded.Contact.Email != "me@example.org" || *loaded.Paging.Replayable || loaded.Response.ID.String() != want.Snapshot.Response.ID.String() {
		t.Errorf("%+v", loaded)
	}
	if _, err := loaded.Program(); err != nil {
		t.Errorf("the loaded snapshot does not run: %v", err)
	}
}

func TestEverySettingCounts(t *testing.T) {
	src := decoded(t, bundled(t, "crossref"))
	seen := map[string]string{compile(t, src).Fingerprint: "nothing"}
	for _, setting := range []string{
		"http.baseUrl=https://other.example.org", "http.timeout=PT91S", "http.maxBodyBytes=1000", "http.allowPrivate=true", "http.headers.Accept=text/plain",
		"request.path=/other", "request.query.rows=5", "filter.formerPrecision=MONTH", "filter.format=yyyyMMddTHHmmss", "query.maxLength=100", "templates.nullPolicy=FAIL", "paging.size=501", "paging.replayable=true",
		"paging.maxPages=3", "paging.expectTotal=false", "window.lookback=P2D", "window.safetyLag=PT31M", "slicing.step=PT12H", "slicing.maxRecords=5",
		"rate.perSecond=2", "rate.burst=2", "rate.concurrency=2", "rate.obeyHeaders=false", "retry.maxAttempts=7", "retry.retryAfterCap=PT3M",
		"response.id=$.other", "response.volatile=[$.score]", "response.fields.extra=$.x", "response.maxRejectRate=0.2", "contact.email=me@example.org",
	} {
		got := compile(t, src, setting).Fingerprint
		if other, taken := seen[got]; taken {
			t.Errorf("%s gives the fingerprint of %s", setting, other)
		}
		seen[got] = setting
	}
}

// The mapping has an identity of its own: a changed rate must not look like a
// changed way of reading items.
func TestMappingHashCoversTheResponseOnly(t *testing.T) {
	src := decoded(t, bundled(t, "crossref"))
	base := compile(t, src).MappingHash
	if got := compile(t, src, "rate.perSecond=2", "paging.size=3").MappingHash; got != base {
		t.Error("a changed rate changed the mapping")
	}
	if got := compile(t, src, "response.fields.title=$.subtitle[0]").MappingHash; got == base {
		t.Error("a changed field did not change the mapping")
	}
}

func TestLoadRefusesWhatItDoesNotKnow(t *testing.T) {
	good := string(compile(t, decoded(t, bundled(t, "crossref"))).Canonical)
	for name, text := range map[string]string{
		"a later format": strings.Replace(good, `"format":2`, `"format":3`, 1),
		"no format":      strings.Replace(good, `"format":2,`, ``, 1),
		"not JSON":       good[:len(good)/2],
		"nothing":        "",
		"null":           "null",
	} {
		if text == good {
			t.Fatalf("%s: the test changed nothing", name)
		}
		if s, err := Load([]byte(text)); err == nil {
			t.Errorf("%s: loaded as %+v", name, s)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, edit := range map[string][2]string{
		"plain http":          {"https://api.crossref.org\n", "http://api.crossref.org\n"},
		"a broken template":   {"${page.token}", "${page.tokn}"},
		"an unknown strategy": {"strategy: TIME", "strategy: HYBRID"},
		"other paging":        {"type: TOKEN", "type: OFFSET"},
		"a token no path":     {"      nextToken: $.message['next-cursor']\n", ""},
	} {
		text := strings.Replace(bundled(t, "crossref"), edit[0], edit[1], 1)
		resolved, err := registry.Resolve(decoded(t, text), "works", "HARVEST", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(resolved); err == nil {
			t.Errorf("%s was compiled", name)
		}
	}
}

func codes(c *Compiled) (out []string) {
	for _, w := range c.Warnings {
		out = append(out, w.Code)
	}
	return out
}

func TestDegradationsAreNamed(t *testing.T) {
	text := bundled(t, "crossref")
	if w := compile(t, decoded(t, text)).Warnings; len(w) != 0 {
		t.Errorf("warnings %q for a source that can do everything", w)
	}
	text = strings.Replace(text, "      total: $.message['total-results']\n", "", 1)
	text = strings.Replace(text, "      filtered: $.indexed['date-time']\n", "", 1)
	text = strings.Replace(text, "      expectTotal: true\n", "", 1)
	if w := codes(compile(t, decoded(t, text))); !slices.Equal(w, []string{"W-NO-TOTAL", "W-NO-FILTERED"}) {
		t.Errorf("warnings %q", w)
	}
}

// A file shows its own end: that its listing announces no total is no weakness of it.
func TestFilesNeedNoTotal(t *testing.T) {
	src := decoded(t, `source: dump
name: Dump
http: {baseUrl: "https://files.example.org"}
rate: {perSecond: 1}
endpoints:
  works:
    role: FILE
    files: {listing: index, every: P1D, packed: GZIP}
    response: {format: JSONL, items: $, id: $.id, updatedAt: $.changed, fields: {title: $.title}}
  index:
    role: LISTING
    request: {path: /index}
    paging: {type: ONE}
    response: {items: $.files, id: $.name, fields: {address: $.name, lines: $.lines}}
`)
	resolved, err := registry.Resolve(src, "works", "HARVEST", nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compile(resolved)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(codes(c), "W-NO-TOTAL") {
		t.Errorf("warnings %q", codes(c))
	}
}
