package registry

import (
	"strings"
	"testing"
)

// I12: what a run was given is kept without texts, any of which may be a secret.
func TestOverridesAreKeptWithoutTexts(t *testing.T) {
	for text, want := range map[string]string{
		"paging.size=50":           "paging.size=50",
		"rate.perSecond=0.5":       "rate.perSecond=0.5",
		"retry.initialDelay=PT10S": "retry.initialDelay=PT10S",
		"window.updatedSince=true": "window.updatedSince=true",
	} {
		o, err := ParseOverride(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Kept(); got != want {
			t.Errorf("%s is kept as %s", text, got)
		}
	}
	kept := map[string]bool{}
	for _, text := range []string{"contact.email=canary@example.org", "contact.email=other@example.org", "http.baseUrl=https://canary.example.org"} {
		o, err := ParseOverride(text)
		if err != nil {
			t.Fatal(err)
		}
		got := o.Kept()
		if strings.Contains(got, "canary") || len(got) > len(o.Path.String())+len("=(text 0000)") {
			t.Errorf("%s is kept as %s", text, got)
		}
		kept[got] = true
	}
	if len(kept) != 3 {
		t.Errorf("texts that differ cannot be told apart: %v", kept)
	}
}
