package exchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Describe shows a request to a person: every line of it, with the values of
// names that look like secrets masked (I12).
func (r *Request) Describe() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s %s\n", r.Method, maskURL(r.URL))
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		for _, value := range r.Header[name] {
			if SecretName(name) {
				value = masked
			}
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	if len(r.Body) > 0 {
		fmt.Fprintf(&out, "\n%s\n", maskBody(r.Body, r.Header.Get("Content-Type"), nil))
	}
	return out.String()
}
