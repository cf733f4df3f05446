package registry

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
)

// Every enum of the file format takes its codes from one list.
func TestEveryEnumHasAList(t *testing.T) {
	enums := enums()
	for path, enum := range enums {
		if _, ok := dictionary.ListOf(enum); !ok {
			t.Errorf("%s: no dictionary list has all of %v: add the list or the missing codes", path, enum)
		}
	}
	if len(enums) < 8 {
		t.Errorf("only %d enums were found", len(enums))
	}
}

// enums are the closed lists of the file format, by path.
func enums() map[string][]string {
	out := map[string][]string{}
	var walk func(s *shape, path Path)
	walk = func(s *shape, path Path) {
		if len(s.enum) > 0 {
			out[path.String()] = s.enum
		}
		for _, f := range s.fields {
			walk(f.shape, path.withKey(f.name))
		}
		if s.elem != nil {
			walk(s.elem, path.withKey("*"))
		}
	}
	walk(sourceShape(), nil)
	return out
}

func TestListOfAnEnum(t *testing.T) {
	all := enums()
	for path, want := range map[string]string{
		`endpoints["*"].role`: "endpoint_usage",
		"paging.type":         "pagination_mode",
		"slicing.strategy":    "ing_slice_strategy",
		"filter.precision":    "date_precision",
		"filter.from":         "bound",
		"filter.bounds":       "filter_bounds",
		"window.mode":         "window_mode",
		"window.order":        "list_order",
		"window.align":        "calendar_align",
		"request.method":      "http_method",
		"response.idCase":     "id_case",
	} {
		if list, _ := dictionary.ListOf(all[path]); list.Code != want {
			t.Errorf("%s takes its codes from %q, want %q", path, list.Code, want)
		}
	}
	if list, ok := dictionary.ListOf(nil); ok {
		t.Errorf("no enum has the list %s", list.Code)
	}
}

func olderCodesText() string {
	return strings.NewReplacer("type: TOKEN", "type: CURSOR", "role: SEARCH", "role: FETCH").Replace(minimalText)
}

// Older codes are read, and only the canonical code goes on from there (D§5.17).
func TestOlderCodesInFiles(t *testing.T) {
	src := decode(t, olderCodesText())
	if got := src.Endpoints["list"]; got.Paging.Type != "TOKEN" || got.Role != "DETAIL" {
		t.Errorf("type %s, role %s", got.Paging.Type, got.Role)
	}
	for _, row := range Rows(src) {
		if mode := row.Columns["pagination_mode_code"]; mode != nil && mode != "TOKEN" {
			t.Errorf("stored as %v", mode)
		}
	}
	for text, hint := range map[string]string{
		"CURSORS": "valid values: OFFSET", "cursor": `did you mean "TOKEN"?`, "TOKN": `did you mean "TOKEN"?`, "FETCH": "valid values: OFFSET",
	} {
		_, _, err := Decode("f.yaml", []byte(strings.Replace(minimalText, "type: TOKEN", "type: "+text, 1)))
		if err == nil || !strings.Contains(err.Error(), "E-DICT-CODE") || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v, want %q", text, err, hint)
		}
	}
}

func TestUnknownCodes(t *testing.T) {
	src := decode(t, minimalText)
	r, err := Resolve(src, "list", "HARVEST", nil)
	if err != nil {
		t.Fatal(err)
	}
	dict := dictionary.All()
	if got := append(r.UnknownCodes(dict), src.UnknownCodes(dict)...); len(got) != 0 {
		t.Errorf("the built-in dictionary lacks\n%v", got)
	}
	disable := func(list, code string) {
		for i := range dict {
			for j := range dict[i].Items {
				if dict[i].Code == list && dict[i].Items[j].Code == code {
					dict[i].Items[j].Disabled = true
				}
			}
		}
	}
	disable("pagination_mode", "TOKEN") // written in the file
	disable("date_precision", "DAY")    // a default
	disable("endpoint_usage", "SEARCH")
	disable("ing_operation", "HARVEST")
	got := r.UnknownCodes(dict).Error()
	for _, want := range []string{
		`test.yaml:9:20: endpoints.list.paging.type: E-DICT-CODE: "TOKEN" is not in use in the dictionary list pagination_mode (in use: OFFSET, PAGE, URL, TIME, ONE)`,
		`test.yaml:8:5: endpoints.list.filter.precision: E-DICT-CODE: "DAY" is not in use in the dictionary list date_precision (in use: SECOND, MINUTE, HOUR, MONTH, YEAR)`,
		`test.yaml:5:11: endpoints.list.role: E-DICT-CODE: "SEARCH" is not in use`,
		`test.yaml:4:3: endpoints.list: E-DICT-CODE: "HARVEST" is not in use`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing: %s\nin\n%s", want, got)
		}
	}
	if lines := strings.Count(got, "\n") + 1; lines != 4 {
		t.Errorf("%d problems:\n%s", lines, got)
	}
	if got := src.UnknownCodes(dict); len(got) != 2 {
		t.Errorf("in the file:\n%v", got)
	}
	if got := src.UnknownCodes(nil); len(got) != 2 || !strings.Contains(got.Error(), "seed the dictionary") {
		t.Errorf("without a dictionary:\n%v", got)
	}
}
