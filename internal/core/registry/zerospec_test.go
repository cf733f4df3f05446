package registry_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
)

const written = `source: example
name: Example
http:
  baseUrl: https://api.example.org/v1
endpoints:
  works:
    role: SEARCH
    request:
      path: /works
      query: {from: "${filter.from}", to: "${filter.to}", rows: "${page.size}", cursor: "${page.token}"}
    filter: {field: updated}
    paging: {type: TOKEN}
    window: {earliest: "2020-01-01"}
    response: {items: $.items, id: $.id, updatedAt: $.updated, nextToken: $.next}
`

func compiled(t *testing.T, text string, set ...string) (*registry.Resolved, *spec.Compiled) {
	t.Helper()
	src, _, err := registry.Decode("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var overrides []registry.Override
	for _, s := range set {
		o, err := registry.ParseOverride(s)
		if err != nil {
			t.Fatal(err)
		}
		overrides = append(overrides, o)
	}
	r, err := registry.Resolve(src, "works", "HARVEST", overrides)
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

// A zero with a meaning holds, says where it was written, and is still there
// when the snapshot is read back.
func TestWrittenZerosHold(t *testing.T) {
	usual, _ := compiled(t, written)
	if usual.Retry.Jitter == 0 || usual.Retry.InitialDelay == 0 || usual.Retry.RetryAfterCap == 0 || usual.Response.MaxRejectRate == 0 {
		t.Fatal("there are no defaults to cover a zero")
	}
	zeros := []string{"retry.jitter=0", "retry.initialDelay=PT0S", "retry.retryAfterCap=PT0S", "response.maxRejectRate=0"}
	r, c := compiled(t, written, zeros...)
	if r.Retry.Jitter != 0 || r.Retry.InitialDelay != 0 || r.Retry.RetryAfterCap != 0 || r.Response.MaxRejectRate != 0 {
		t.Errorf("%+v %v", r.Retry, r.Response.MaxRejectRate)
	}
	for _, set := range zeros {
		path, _, _ := strings.Cut(set, "=")
		if got := r.Origin(path); got != "override" {
			t.Errorf("%s comes from %s", path, got)
		}
		if !strings.Contains(string(c.Canonical), `"`+path[strings.LastIndex(path, ".")+1:]+`":`) {
			t.Errorf("the snapshot leaves %s out:\n%s", path, c.Canonical)
		}
	}
	loaded, err := spec.Load(c.Canonical)
	if err != nil || !reflect.DeepEqual(loaded.Retry, c.Snapshot.Retry) || loaded.Response.MaxRejectRate != 0 {
		t.Errorf("%v: %+v", err, loaded.Retry)
	}
}

// One meaning has one fingerprint.
func TestFingerprintHasNoSpelling(t *testing.T) {
	_, want := compiled(t, written)
	for _, change := range [][2]string{
		{`"2020-01-01"`, `"2020-01-01T00:00:00Z"`}, {`"2020-01-01"`, `"2020-01-01T09:00:00+09:00"`}, {`"2020-01-01"`, `"2020-01-01T00:00:00.000Z"`},
		{"example.org/v1", "example.org/v1/"}, {"https://api.example.org", "HTTPS://API.Example.ORG"},
	} {
		text := strings.Replace(written, change[0], change[1], 1)
		r, got := compiled(t, text)
		if text == written || got.Fingerprint != want.Fingerprint {
			t.Errorf("%s is another source", change[1])
		}
		for _, path := range []string{"window.earliest", "http.baseUrl"} {
			if origin := r.Origin(path); !strings.Contains(origin, "f.yaml:") {
				t.Errorf("%s comes from %s", path, origin)
			}
		}
		before, _, _ := registry.Decode("a.yaml", []byte(written))
		after, _, _ := registry.Decode("b.yaml", []byte(text))
		if changes := registry.Diff(before, after); len(changes) > 0 {
			t.Errorf("%s is a change: %v", change[1], changes)
		}
	}
	for _, change := range [][2]string{{"2020-01-01", "2020-01-02"}, {"example.org/v1", "example.org/V1"}} {
		if _, got := compiled(t, strings.Replace(written, change[0], change[1], 1)); got.Fingerprint == want.Fingerprint {
			t.Errorf("%s is the same source", change[1])
		}
	}
}
