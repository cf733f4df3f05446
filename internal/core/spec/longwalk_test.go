package spec

import (
	"strings"
	"testing"
)

// A source whose token works once and whose slices may be long is warned, with
// the arithmetic and what to do.
func TestBelieve10LongWalksAreWarned(t *testing.T) {
	crossref := decoded(t, bundled(t, "crossref"))
	for _, tt := range []struct {
		name     string
		settings []string
		says     []string // empty: no warning
	}{
		{"bundled", nil, nil},
		{"by size", []string{"slicing.maxPages=0", "slicing.targetRecords=20000"}, nil},
		{"larger pages", []string{"paging.size=1000"}, nil},
		{"as long as a busy day", []string{"slicing.maxPages=2000"}, []string{"up to 2000 pages", "one answer in 1,000", "14 % of its walks", "with 50 pages each, 95 % would", "slicing.maxPages: 50"}},
		{"by length alone", []string{"slicing.maxPages=0"}, []string{"up to 20000 pages", "2e-07 %", "slicing.maxPages: 50"}},
		{"by days", []string{"slicing.maxPages=0", "filter.precision=DAY", "filter.format=yyyy-MM-dd"}, []string{"no less than a day", "larger paging.size"}},
		{"replayable", []string{"slicing.maxPages=2000", "paging.replayable=true"}, nil},
	} {
		said := ""
		for _, w := range compile(t, crossref, tt.settings...).Warnings {
			if w.Code == "W-LONG-WALK" {
				said = w.Message
			}
		}
		if (said != "") != (len(tt.says) > 0) {
			t.Errorf("%s: %q", tt.name, said)
		}
		for _, part := range tt.says {
			if !strings.Contains(said, part) {
				t.Errorf("%s: %q does not say %q", tt.name, said, part)
			}
		}
	}
	blind := strings.NewReplacer("      total: $.message['total-results']\n", "", "expectTotal: true", "expectTotal: false").Replace(bundled(t, "crossref"))
	if all := compile(t, decoded(t, blind), "slicing.maxPages=0").Warnings; !strings.Contains(all[len(all)-1].Message, "shorter slicing.step") {
		t.Errorf("%s", all)
	}
	pmc := compile(t, decoded(t, bundled(t, "pmc"))).Warnings
	if last := pmc[len(pmc)-1]; last.Code != "W-LONG-WALK" || strings.Contains(last.Message, "paging.size") {
		t.Errorf("%s", last)
	}
}
