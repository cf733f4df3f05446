package spec

import (
	"slices"
	"testing"
)

// A harvest that takes no changed value would be a silent hole; an UPDATE that
// does so is what was asked for (§11.1).
func TestAHarvestThatOnlyFillsIsNoted(t *testing.T) {
	text := bundled(t, "crossref")
	noted := func(overrides ...string) bool {
		return slices.ContainsFunc(compile(t, decoded(t, text), overrides...).Warnings, func(w Warning) bool { return w.Code == "W-FILL-ONLY" })
	}
	if noted() || !noted("response.fillOnly=true") {
		t.Errorf("noted %t without it, %t with it", noted(), noted("response.fillOnly=true"))
	}
}
