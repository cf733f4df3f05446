package registry

import (
	"strings"
	"testing"
)

// What a request names and what filter.bounds says are the same, or the file is refused:
// however the request names it, and whichever of two keys says it.
func TestBelieve05TheRequestNamesWhatBoundsSays(t *testing.T) {
	text := string(read(t, "testdata/good/one-day.yaml"))
	for name, c := range map[string]struct{ sends, filter, slicing, window, refused string }{
		"a day":                    {sends: "${filter.at}", filter: "bounds: UNIT"},
		"a day by its two ends":    {sends: "${filter.from}/${filter.to}", filter: "bounds: UNIT"},
		"an hour":                  {sends: "${filter.at}", filter: "bounds: UNIT, precision: HOUR"},
		"a year":                   {sends: "${filter.at}", filter: "bounds: UNIT, precision: YEAR"},
		"an hour, in days":         {sends: "${filter.at}", filter: "bounds: UNIT, precision: HOUR", slicing: "step: P1D", refused: "E-WINDOW-UNIT"},
		"shorter than a day":       {sends: "${filter.at}", filter: "bounds: UNIT", slicing: "step: PT6H"},
		"three days":               {sends: "${filter.at}", filter: "bounds: UNIT", slicing: "step: P3D", refused: "E-WINDOW-UNIT"},
		"an overlap":               {sends: "${filter.at}", filter: "bounds: UNIT", slicing: "overlap: PT1H", refused: "E-WINDOW-UNIT"},
		"joined days":              {sends: "${filter.at}", filter: "bounds: UNIT", slicing: "mergeBelow: 0.5", refused: "E-WINDOW-UNIT"},
		"days that are cut":        {sends: "${filter.at}", filter: "bounds: UNIT", slicing: "targetRecords: 5", refused: "E-WINDOW-UNIT"},
		"a minute":                 {sends: "${filter.at}", filter: "bounds: UNIT, precision: MINUTE", refused: "E-WINDOW-UNIT"},
		"one end of a day":         {sends: "${filter.from}", filter: "bounds: UNIT", refused: "E-WINDOW-UNSENT"},
		"no day":                   {sends: "all", filter: "bounds: UNIT", refused: "E-WINDOW-UNSENT"},
		"a day for a window":       {sends: "${filter.at}", filter: "bounds: BOTH", refused: "E-WINDOW-BOUNDS"},
		"one end of a window":      {sends: "${filter.from}", filter: "bounds: BOTH", refused: "E-WINDOW-UNSENT"},
		"one end, nothing said":    {sends: "${filter.from}", refused: "E-WINDOW-UNSENT"},
		"both ends":                {sends: "${filter.from}/${filter.to}"},
		"the start":                {sends: "${filter.from}", filter: "bounds: FROM"},
		"the start, not sent":      {sends: "all", filter: "bounds: FROM", refused: "E-WINDOW-UNSENT"},
		"the start and the end":    {sends: "${filter.from}/${filter.to}", filter: "bounds: FROM", refused: "E-WINDOW-BOUNDS"},
		"the end by an instant":    {sends: "${filter.from}/${formatDateTime(window.to, 'yyyy-MM-dd')}", filter: "bounds: FROM", refused: "E-WINDOW-BOUNDS"},
		"the start and longer":     {sends: "${filter.from}", filter: "bounds: FROM", slicing: "step: P3D"},
		"the whole list":           {sends: "all", filter: "bounds: NONE", window: "ordered: true"},
		"a feed":                   {sends: "all", filter: "bounds: NONE", window: "order: DESC"},
		"the oldest first":         {sends: "all", filter: "bounds: NONE", window: "order: ASC, ordered: true"},
		"a feed by the older key":  {sends: "all", window: "order: DESC, updatedSince: false"},
		"a feed from a start":      {sends: "${filter.from}", filter: "bounds: NONE", window: "order: DESC", refused: "E-WINDOW-BOUNDS"},
		"a feed in no order":       {sends: "all", filter: "bounds: NONE", window: "order: DESC, ordered: false", refused: "E-WINDOW-SUPPORT"},
		"sorted upwards":           {sends: "${filter.from}", filter: "bounds: FROM", window: "order: ASC"},
		"a list in no order":       {sends: "all", filter: "bounds: NONE", refused: "E-WINDOW-SUPPORT"},
		"the older key":            {sends: "all", window: "ordered: true, updatedSince: false"},
		"the older trick":          {sends: "${filter.from}", window: "ordered: true, updatedSince: false", refused: "E-WINDOW-BOUNDS"},
		"the trick with its end":   {sends: "${filter.to}", window: "ordered: true, updatedSince: false", refused: "E-WINDOW-BOUNDS"},
		"the trick by an instant":  {sends: "${formatDateTime(window.from, 'yyyy-MM-dd')}", window: "ordered: true, updatedSince: false", refused: "E-WINDOW-BOUNDS"},
		"the trick in the new key": {sends: "${filter.at}", filter: "bounds: NONE", window: "ordered: true", refused: "E-WINDOW-BOUNDS"},
		"two keys that disagree":   {sends: "${filter.at}", filter: "bounds: UNIT", window: "updatedSince: false", refused: "E-WINDOW-BOUNDS"},
		"and the other way":        {sends: "all", filter: "bounds: NONE", window: "ordered: true, updatedSince: true", refused: "E-WINDOW-BOUNDS"},
		"two keys that agree":      {sends: "all", filter: "bounds: NONE", window: "ordered: true, updatedSince: false"},
	} {
		changed := strings.Replace(text, "day: ${filter.at}", `day: "`+c.sends+`"`, 1)
		changed = strings.Replace(changed, "    filter:\n      field: updated\n      bounds: UNIT\n", "    filter: {field: updated, "+c.filter+"}\n", 1)
		changed = strings.Replace(changed, "    window:\n      mode: SLIDING\n      size: P1D\n", "    slicing: {"+c.slicing+"}\n    window: {"+c.window+"}\n", 1)
		src, _, err := Decode("one.yaml", []byte(changed))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch err := src.Validate().Err(); {
		case c.refused == "" && err != nil, c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v, want %q", name, err, c.refused)
		}
	}
}

// The key that is not written follows the one that is, so that a snapshot says one thing.
func TestBoundsAndUpdatedSinceSayTheSame(t *testing.T) {
	text := string(read(t, "testdata/good/one-day.yaml"))
	for window, filter := range map[string]string{"window: {updatedSince: false}": "filter: {field: updated}", "window: {}": "filter: {field: updated, bounds: NONE}"} {
		changed := strings.Replace(text, "    filter:\n      field: updated\n      bounds: UNIT\n", "    "+filter+"\n", 1)
		changed = strings.Replace(changed, "    window:\n      mode: SLIDING\n      size: P1D\n", "    "+window+"\n", 1)
		src, _, err := Decode("one.yaml", []byte(changed))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Resolve(src, "works", "HARVEST", nil)
		if err != nil || r.Filter.Ends != "NONE" || *r.Window.UpdatedSince {
			t.Errorf("%s %s: %q %v %v", window, filter, r.Filter.Ends, r.Window.UpdatedSince, err)
		}
	}
}
