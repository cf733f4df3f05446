package document

import (
	"strings"
	"testing"
)

// A path that may select a node more often than the bound is refused, however its selectors are spread; one with
// many names in one place is not.
func TestSelectorsThatMultiplyAreRefused(t *testing.T) {
	names := func(n int) string { return "['" + strings.Repeat("a','", n-1) + "a']" }
	for path, allowed := range map[string]bool{
		"$" + names(8): true, "$" + names(16): true, "$" + names(17): false,
		"$" + strings.Repeat("[*,*]", 4): true, "$" + strings.Repeat("[*,*]", 5): false,
		"$" + names(8) + names(2): true, "$" + names(8) + names(3): false,
		"$.a[?@.b[*,*]][*,*]":                  true,
		"$['a,b,c,d,e,f,g,h,i'][*,*]":          true,
		"$" + strings.Repeat("['a','a']", 400): false,
	} {
		if err := refuseCostly(path); (err == nil) != allowed {
			t.Errorf("%.60s: %v", path, err)
		}
	}
}
