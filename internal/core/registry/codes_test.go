package registry

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shownElsewhere are codes no file alone can raise: they come from overrides and
// from asking for an operation. The package daemon tests them.
var shownElsewhere = []string{"E-RATE-RAISED", "E-OPERATION"}

var codeInText = regexp.MustCompile(`: (E-[A-Z0-9-]+): `)

// Every check has its own code, the code is explained, and a bad file shows it.
func TestEveryCodeIsShownAndExplained(t *testing.T) {
	shown := map[string]bool{}
	for _, name := range listFiles(t, "testdata/bad/*.want") {
		for line := range strings.Lines(string(read(t, name))) {
			found := codeInText.FindStringSubmatch(line)
			if found == nil {
				t.Errorf("%s: no code in %s", name, line)
				continue
			}
			shown[found[1]] = true
		}
	}
	explained := map[string]bool{}
	for _, c := range Codes() {
		if c.Meaning == "" || explained[c.Code] {
			t.Errorf("%s is explained twice or not at all", c.Code)
		}
		explained[c.Code] = true
		if !shown[c.Code] && !slices.Contains(shownElsewhere, c.Code) {
			t.Errorf("no file in testdata/bad raises %s", c.Code)
		}
	}
	for code := range shown {
		if !explained[code] && !slices.Contains(conditionCodes, code) {
			t.Errorf("%s is not in Codes", code)
		}
	}
}

// conditionCodes are of the query section and explained there.
var conditionCodes = []string{"E-FIELD-NOT-FOUND", "E-NOT-UNSUPPORTED", "E-RANGE-KIND", "E-RANGE-OPEN-END", "E-TERM-MATCH-UNSUPPORTED", "E-PARAMS-UNDER-OR"}
