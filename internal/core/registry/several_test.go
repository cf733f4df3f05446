package registry

import (
	"strings"
	"testing"
)

// A secret in a list is hidden as one alone is, and so is the list around it.
func TestASecretAmongSeveralValuesIsHidden(t *testing.T) {
	src, _, err := Decode("example.yaml", read(t, "testdata/bad/check-several-values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := string(Export(src.Shown()))
	if strings.Contains(out, "hunter2") || !strings.Contains(out, `api_key: "`+hidden+`"`) {
		t.Errorf("exported as\n%s", out)
	}
}

// For one run a parameter gets one value, or several; a text in brackets that is no list stays a text.
func TestSeveralValuesForOneRun(t *testing.T) {
	for given, want := range map[string]string{
		`request.query.include=a`:           `request.query.include=a`,
		`request.query.include=["a", "b"]`:  `request.query.include=[a, b]`,
		`request.query.include=["a"]`:       `request.query.include=a`,
		`request.query.include=[a TO b]`:    `request.query.include=[a TO b]`,
		`request.query.include=12`:          `request.query.include=12`,
		`request.query.api_key=["a1", "b"]`: `request.query.api_key=[secret]`,
	} {
		o, err := ParseOverride(given)
		if err != nil || o.String() != want {
			t.Errorf("%s became %s, %v", given, o, err)
		}
	}
	if o, err := ParseOverride(`request.query.include=["a", `); err == nil {
		t.Errorf("an unfinished list became %s", o)
	}
}
