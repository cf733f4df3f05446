package registry

import (
	"strings"
	"testing"
)

// A request that names one day serves slices of one day, however it names it, and
// window.updatedSince does not switch that off.
func TestBelieve05RequestThatNamesOneDay(t *testing.T) {
	text := string(read(t, "testdata/good/one-day.yaml"))
	for name, c := range map[string]struct {
		day, slicing string
		refused      bool
	}{
		"as long as a day":          {"${filter.from}", "step: P1D", false},
		"shorter":                   {"${filter.from}", "step: PT6H", false},
		"three days":                {"${filter.from}", "step: P3D", true},
		"three days, by the end":    {"${filter.to}", "step: P3D", true},
		"three days, by an instant": {"${formatDateTime(window.from, 'yyyy-MM-dd')}", "step: P3D", true},
		"an overlap":                {"${filter.from}", "overlap: PT1H", true},
		"no day is named":           {"all", "step: P3D", false},
	} {
		changed := strings.Replace(text, "day: ${filter.from}", "day: \""+c.day+"\"", 1)
		changed = strings.Replace(changed, "    window:\n", "    slicing: {"+c.slicing+"}\n    window:\n", 1)
		src, _, err := Decode("one.yaml", []byte(changed))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		problems := src.Validate()
		if refused := problems.Err() != nil && strings.Contains(problems.Err().Error(), "E-WINDOW-UNIT"); refused != c.refused {
			t.Errorf("%s: %v", name, problems.Err())
		}
	}
}
