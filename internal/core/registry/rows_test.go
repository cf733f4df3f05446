package registry

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/query"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/core/zone"
)

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func throughRows(t failer, src *Source) *Source {
	t.Helper()
	back, err := FromRows(Rows(src))
	if err != nil {
		t.Fatalf("%v\nrows %v", err, Rows(src))
	}
	return back
}

func sameLeaves(t failer, a, b *Source) {
	t.Helper()
	texts := func(s *Source) []string {
		var out []string
		for _, l := range s.allLeaves().sortLeaves() {
			out = append(out, fmt.Sprintf("%s = %T %s", l.Path, l.Value, strconv.Quote(textOf(l.Value))))
		}
		return out
	}
	if x, y := texts(a), texts(b); !slices.Equal(x, y) {
		t.Fatalf("before %v\nafter  %v", x, y)
	}
}

func TestRowsAreLossless(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		leaves := leafSet{}
		for key, value := range map[string]string{"source": "src", "name": "Näme", "role": ""} {
			if value != "" {
				leaves.addLeaf(Leaf{Path: Path{key}, Value: value})
			}
		}
		draw(t, sourceShape(), nil, leaves)
		src := sourceOf(leaves, nil)
		rows := Rows(src)
		back := throughRows(t, src)
		sameLeaves(t, src, back)
		if changes := Diff(src, back); changes != nil {
			t.Fatalf("%+v", changes)
		}
		if again := Rows(back); !reflect.DeepEqual(rows, again) {
			t.Fatalf("rows changed:\n%v\n%v", rows, again)
		}
	})
}

// draw fills leaves at random, zero values and odd keys included.
func draw(t *rapid.T, s *shape, path Path, out leafSet) {
	switch s.kind {
	case object:
		for _, f := range s.fields {
			below := path.withKey(f.name)
			if _, fixed := out[below.String()]; fixed {
				continue
			}
			if f.required && f.shape.kind != object && len(path) <= 2 || rapid.Bool().Draw(t, below.String()) {
				draw(t, f.shape, below, out)
			}
		}
	case mapping:
		keys := rapid.SliceOfNDistinct(drawKey(s, path), 1, 3, rapid.ID).Draw(t, "keys")
		for _, key := range keys {
			draw(t, s.elem, path.withKey(key), out)
		}
	case list:
		values := reflect.MakeSlice(s.typ, 0, 0)
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			values = reflect.Append(values, reflect.ValueOf(drawScalar(t, s.elem)))
		}
		out.addLeaf(Leaf{Path: path, Value: values.Interface()})
	default:
		out.addLeaf(Leaf{Path: path, Value: drawScalar(t, s)})
	}
}

func drawKey(s *shape, path Path) *rapid.Generator[string] {
	switch {
	case s.enum != nil:
		return rapid.SampledFrom(s.enum)
	case len(path) == 1:
		return rapid.StringMatching(`[A-Za-z][A-Za-z0-9_-]{0,10}`)
	}
	return rapid.String()
}

func drawScalar(t *rapid.T, s *shape) any {
	if s.enum != nil {
		return reflect.ValueOf(rapid.SampledFrom(s.enum).Draw(t, "code")).Convert(s.typ).Interface()
	}
	switch s.typ {
	case reflect.TypeFor[duration.Duration]():
		units := []duration.Duration{1000, 1e6, 1e9, 60e9, 3600e9, duration.Day}
		return rapid.SampledFrom(units).Draw(t, "unit") * duration.Duration(rapid.IntRange(0, 100_000).Draw(t, "count"))
	}
	if reflect.PointerTo(s.typ).Implements(textUnmarshaler) {
		return drawText(t, s.typ)
	}
	var value any
	switch s.typ.Kind() {
	case reflect.Int, reflect.Int64:
		value = rapid.OneOf(rapid.Int64Range(0, 3), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "whole")
	case reflect.Float64:
		value = rapid.Float64Range(0, math.MaxFloat64).Draw(t, "number")
	case reflect.Bool:
		value = rapid.Bool().Draw(t, "flag")
	default:
		value = strings.ReplaceAll(rapid.OneOf(rapid.String(), rapid.StringN(0, 700, -1)).Draw(t, "text"), "\x00", "")
	}
	return reflect.ValueOf(value).Convert(s.typ).Interface()
}

// drawText gives a value of a type that reads text of its own.
func drawText(t *rapid.T, typ reflect.Type) any {
	name := rapid.StringMatching(`[a-z]{1,600}`).Draw(t, "name")
	texts, known := map[reflect.Type][]string{
		reflect.TypeFor[document.Path]():     {"$." + name},
		reflect.TypeFor[extract.Selector]():  {"$." + name, "${lower(jsonPath('$." + name + "'))}"},
		reflect.TypeFor[extract.Predicate](): {"$." + name, "${jsonPath('$." + name + "') == 'x'}"},
		reflect.TypeFor[zone.Zone]():         {"UTC", "+08:00", "Europe/London"},
		reflect.TypeFor[query.Expr]():        {"", "phrase(title, \"" + name + "\")", "not (oneOf(type, \"a\", \"b\") or true)"},
		reflect.TypeFor[secret.Ref]():        {"env:" + name, "file:/run/" + name, "exec:print " + name},
	}[typ]
	if !known {
		t.Fatalf("no values to draw for %s", typ)
	}
	value := reflect.New(typ)
	text := rapid.SampledFrom(texts).Draw(t, "text")
	if err := value.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value.Elem().Interface()
}

func TestFilesThroughRows(t *testing.T) {
	for _, name := range append(listFiles(t, "testdata/good/*.yaml"), listFiles(t, "../../../catalog/*.yaml")...) {
		src, _, err := Decode(name, read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		sameLeaves(t, src, throughRows(t, src))
	}
}

func TestColumnsOfTheFirstSchema(t *testing.T) {
	src := decode(t, string(read(t, "testdata/good/layers.yaml")))
	got := map[string]any{}
	for _, row := range Rows(src) {
		for name, value := range row.Columns {
			if value != nil {
				got[strings.Join([]string{row.Table, row.Endpoint, row.Operation, name}, " ")] = value
			}
		}
	}
	for key, want := range map[string]any{
		"reg_provenance_version  ALL provenance_code":                   "layers",
		"reg_provenance_version  ALL base_url_default":                  "https://api.example.org",
		"reg_provenance_version  ALL extra_json":                        `{"contact":{"email":"ops@example.org"}}`,
		"reg_prov_http_cfg  ALL timeout_total_millis":                   int64(20_000),
		"reg_prov_http_cfg works ALL extra_json":                        `{"http":{"allowHttp":false}}`,
		"reg_prov_http_cfg works BACKFILL extra_json":                   `{"http":{"timeout":"PT0.0005S"}}`,
		"reg_prov_retry_cfg  ALL max_retry_times":                       int64(6),
		"reg_prov_rate_limit_cfg works BACKFILL rate_tokens_per_second": 0.5,
		"reg_prov_pagination_cfg works BACKFILL page_size_value":        int64(200),
		"reg_prov_window_offset_cfg works ALL watermark_lag_seconds":    int64(0),
		"reg_prov_window_offset_cfg works ALL window_size_value":        int64(1),
		"reg_prov_window_offset_cfg works ALL window_size_unit_code":    "DAY",
		"reg_prov_endpoint_def byid ALL endpoint_usage_code":            "DETAIL",
		"reg_prov_response_cfg works ALL required_json":                 "[]",
		"reg_prov_retry_cfg works BACKFILL retry_http_status_json":      "[500]",
		"reg_prov_window_offset_cfg works ALL default_date_field_name":  "updated",
		"reg_prov_endpoint_def works ALL default_query_params":          `{"at":"${filter.from}","cursor":"${page.token}","empty":"","query.bibliographic":"cats","rows":"20","until":"${filter.to}"}`,
	} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
}

// What drivers hand out differs from what was stored.
func TestRowsAsDriversGiveThem(t *testing.T) {
	src := decode(t, string(read(t, "../../../catalog/crossref.yaml")))
	rows := Rows(src)
	for _, row := range rows {
		for name, value := range row.Columns {
			switch v := value.(type) {
			case string:
				row.Columns[name] = []byte(v)
			case bool:
				row.Columns[name] = map[bool]int64{true: 1}[v]
			case float64:
				if v == math.Trunc(v) {
					row.Columns[name] = int64(v)
				}
			}
		}
	}
	back, err := FromRows(rows)
	if err != nil {
		t.Fatal(err)
	}
	sameLeaves(t, src, back)
}

func TestDamagedRows(t *testing.T) {
	tests := []struct {
		table, column string
		value         any
		says          string
	}{
		{"reg_prov_http_cfg", "base_url_override", "https://x", "reg_prov_http_cfg.base_url_override: this column is not read here"},
		{"reg_prov_http_cfg", "no_such_column", 1, "not read here"},
		{"reg_prov_http_cfg", "timeout_total_millis", int64(-1), "is no length of time"},
		{"reg_prov_http_cfg", "timeout_total_millis", "soon", "timeout_total_millis: http.timeout:"},
		{"reg_prov_http_cfg", "default_headers_json", "{", "not valid JSON"},
		{"reg_prov_http_cfg", "default_headers_json", "[]", "http.headers: E-TYPE: expected a mapping"},
		{"reg_prov_http_cfg", "extra_json", `{"http":{"nope":1}}`, "http.nope: E-UNKNOWN-KEY: unknown key"},
		{"reg_prov_http_cfg", "extra_json", `{"http":{"timeout":"PT1S"}}`, "given twice"},
		{"reg_prov_http_cfg", "extra_json", `[]`, "expected a JSON object"},
		{"reg_prov_http_cfg", "extra_json", `{} {}`, "not valid JSON"},
		{"reg_prov_http_cfg", "extra_json", strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested deeper"},
		{"reg_prov_rate_limit_cfg", "respect_server_rate_header", int64(2), "expected true or false"},
		{"reg_prov_rate_limit_cfg", "rate_tokens_per_second", true, "expected a number"},
		{"reg_prov_retry_cfg", "max_retry_times", int64(math.MaxInt64), "out of range"},
		{"reg_provenance_version", "provenance_code", nil, "source: E-REQUIRED: required key is missing"},
		{"reg_provenance_version", "provenance_code", 7, "expected text"},
	}
	for _, tt := range tests {
		rows := Rows(decode(t, string(read(t, "../../../catalog/crossref.yaml"))))
		i := slices.IndexFunc(rows, func(r Row) bool { return r.Table == tt.table })
		rows[i].Columns[tt.column] = tt.value
		if _, err := FromRows(rows); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s.%s = %v: %v, want %q", tt.table, tt.column, tt.value, err, tt.says)
		}
	}
	if _, err := FromRows(nil); err == nil {
		t.Error("no rows were accepted")
	}
}
