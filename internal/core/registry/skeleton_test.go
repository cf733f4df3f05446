package registry

import (
	"slices"
	"strings"
	"testing"
)

// Every form to start from is commented, carries the name it is for, and is valid.
func TestEveryFormToStartFromIsValid(t *testing.T) {
	for _, form := range append(SkeletonForms(), "") {
		text := SkeletonLike(form, "my-own", "sources/my-own.yaml")
		src, _, err := Decode("my-own.yaml", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", form, err)
		}
		if problems := src.Validate(); len(problems) > 0 {
			t.Errorf("%s: %v", form, problems)
		}
		if src.Code != "my-own" || strings.Contains(text, "example.yaml") || strings.Count(text, "\n") < 40 || strings.Count(text, "#") < 8 {
			t.Errorf("%s: %s", form, text)
		}
	}
	files, err := skeletons.ReadDir("skeletons")
	if err != nil || len(files) != len(SkeletonForms()) {
		t.Errorf("%d files for %d forms, %v", len(files), len(SkeletonForms()), err)
	}
	for _, f := range files {
		if !slices.Contains(SkeletonForms(), strings.TrimSuffix(f.Name(), ".yaml")) {
			t.Errorf("%s is no form", f.Name())
		}
	}
}
