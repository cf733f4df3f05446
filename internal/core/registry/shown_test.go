package registry

import (
	"path/filepath"
	"strings"
	"testing"
)

const canary = "s3cr3t-canary"

// Files with a secret in a wrong place are refused without repeating it.
func TestProblemsRepeatNoSecret(t *testing.T) {
	tried := 0
	for _, name := range listFiles(t, "testdata/bad/*.yaml") {
		text := string(read(t, name))
		if !strings.Contains(text, canary) {
			continue
		}
		tried++
		if _, problems := check(filepath.Base(name), []byte(text)); len(problems) == 0 || strings.Contains(strings.ReplaceAll(problems.Error(), "_", "-"), canary) {
			t.Errorf("%s: %v", name, problems)
		}
	}
	if tried < 10 {
		t.Errorf("only %d files were tried", tried)
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	tried := 0
	for _, name := range listFiles(t, "testdata/bad/check-secret-*.yaml") {
		src, _, err := Decode("old.yaml", read(t, name))
		if err != nil || strings.Contains(name, "templates") {
			continue // what cannot be read or compiled was never applied
		}
		tried++
		var shown strings.Builder
		for _, change := range append(Diff(nil, src), Diff(src, nil)...) {
			shown.WriteString(change.Old + change.New)
		}
		for _, x := range must(Resolve(src, "works", "BACKFILL", nil)).Explain() {
			shown.WriteString(x.Value)
		}
		shown.Write(Export(src.Shown()))
		if got := shown.String(); strings.Contains(got, canary) || !strings.Contains(got, hidden) {
			t.Errorf("%s is shown as\n%s", name, got)
		}
		if !strings.Contains(string(Export(src)), canary) {
			t.Errorf("%s: showing a source changed it", name)
		}
	}
	if tried < 6 {
		t.Errorf("only %d files were tried", tried)
	}
}

func must(r *Resolved, err error) *Resolved {
	if err != nil {
		panic(err)
	}
	return r
}

// A source without secrets is shown as it is, references to credentials included.
func TestGoodSourcesAreShownWhole(t *testing.T) {
	for _, name := range append(listFiles(t, "testdata/good/*.yaml"), listFiles(t, "../../../catalog/*.yaml")...) {
		src := decode(t, string(read(t, name)))
		if src.Shown() != src || strings.Contains(string(Export(src)), hidden) {
			t.Errorf("%s has something to hide", name)
		}
	}
}

func TestOverrideErrorsNameThePathOnly(t *testing.T) {
	for text, path := range map[string]string{
		"auth.required=" + canary: "auth.required", "http.headers.Authorization.x=" + canary: "http.headers.Authorization.x",
		"auth.nix=" + canary: "auth.nix", `request.query["a"]b=` + canary: "override", "=" + canary: "override", `request.query["` + canary: "override",
	} {
		_, err := ParseOverride(text)
		if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestHintsListSomething(t *testing.T) {
	p := problemAt(Position{File: "f"}, "a", "E-X: E-Y: why: because", "credentials: ")
	if p.String() != "f: a: E-Y: why: because (there are no credentials)" {
		t.Error(p)
	}
}

// What a file calls no secret is shown, stored and exported as it stands; a name beside it
// that nobody spoke of is not.
func TestWhatIsCalledNoSecretIsShown(t *testing.T) {
	text := string(read(t, "testdata/good/not-secret.yaml"))
	src, _, err := Decode("example.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if out := string(Export(src.Shown())); strings.Contains(out, hidden) || !strings.Contains(out, "library") || !strings.Contains(out, "notSecret") {
		t.Errorf("exported as\n%s", out)
	}
	r, err := Resolve(src, "works", "UPDATE", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Explain() {
		if v.Value == hidden {
			t.Errorf("%s is hidden", v.Path)
		}
	}
	src, _, err = Decode("example.yaml", []byte(strings.Replace(text, "X-Auth-Subdomain, ", "", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Validate().Err(); err == nil || !strings.Contains(err.Error(), "E-SECRET-LITERAL") {
		t.Errorf("without the name: %v", err)
	}
	if out := string(Export(src.Shown())); strings.Contains(out, "library") || !strings.Contains(out, hidden) {
		t.Errorf("exported as\n%s", out)
	}
}
