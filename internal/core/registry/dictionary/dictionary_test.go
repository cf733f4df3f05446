package dictionary

import (
	"regexp"
	"testing"
)

func TestDictionaryIsSound(t *testing.T) {
	typeCode, itemCode := regexp.MustCompile(`^[a-z0-9_]{1,64}$`), regexp.MustCompile(`^[A-Z0-9_]{1,64}$`)
	types := map[string]bool{}
	for _, dict := range All() {
		if types[dict.Code] || !typeCode.MatchString(dict.Code) || dict.Name == "" {
			t.Errorf("type %q", dict.Code)
		}
		types[dict.Code] = true
		defaults, seen := 0, map[string]bool{}
		for _, item := range dict.Items {
			if seen[item.Code] || !itemCode.MatchString(item.Code) {
				t.Errorf("%s: item %q", dict.Code, item.Code)
			}
			seen[item.Code] = true
			if item.Default {
				defaults++
			}
		}
		for _, item := range dict.Items {
			for _, alias := range item.Aliases {
				if key := alias.System + " " + alias.Code; seen[key] || seen[alias.Code] {
					t.Errorf("%s: alias %s is ambiguous", dict.Code, key)
				} else {
					seen[key] = true
				}
			}
		}
		if defaults != 1 {
			t.Errorf("%s has %d defaults", dict.Code, defaults)
		}
	}
	if len(types) < 20+9 { // those of the earlier schemas
		t.Errorf("%d types", len(types))
	}
}

func TestAliases(t *testing.T) {
	for _, tt := range []struct{ dict, code, want string }{
		{"pagination_mode", "CURSOR", "TOKEN"},
		{"pagination_mode", "PAGE_NUMBER", "PAGE"},
		{"pagination_mode", "TOKEN", "TOKEN"},
		{"endpoint_usage", "FETCH", "DETAIL"},
		{"ing_task_status", "RUNNING", "EXECUTING"},
		{"ing_task_run_status", "RUNNING", "RUNNING"},
		{"ing_plan_status", "ARCHIVED", "COMPLETED"},
		{"ing_plan_status", "NOPE", ""},
	} {
		for _, dict := range All() {
			if dict.Code != tt.dict {
				continue
			}
			if item, _ := dict.Find(tt.code); item.Code != tt.want {
				t.Errorf("%s %s: %q, want %q", tt.dict, tt.code, item.Code, tt.want)
			}
		}
	}
	if name := (Item{Code: "PER_KEY"}).Name(); name != "Per key" {
		t.Errorf("name %q", name)
	}
}

// An alias that two systems used for different things names nothing.
func TestAmbiguousAlias(t *testing.T) {
	list := closedType("x", "X", "A* B").addAliases(legacy1, "OLD=A ONE=A").addAliases(legacy2, "OLD=B ONE=A")
	if item, ok := list.Find("OLD"); ok {
		t.Errorf("OLD is taken for %s", item.Code)
	}
	if item, ok := list.Find("ONE"); !ok || item.Code != "A" {
		t.Errorf("ONE is taken for %q", item.Code)
	}
}
