package exchange

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// PagingParameters returns the parameters, fields and members whose whole value says
// which page is asked for. What they hold is no secret, whatever they are called.
func (c RequestConfig) PagingParameters() (out []string) {
	for _, part := range []map[string]string{c.Query, c.Form} {
		for _, name := range slices.Sorted(maps.Keys(part)) {
			if pagingOnly.MatchString(strings.TrimSpace(part[name])) {
				out = append(out, name)
			}
		}
	}
	for _, found := range pagingMember.FindAllStringSubmatch(c.Body, -1) {
		out = append(out, found[1])
	}
	return out
}

var (
	pagingOnly   = regexp.MustCompile(`^\$\{\s*page\.[a-zA-Z]+\s*\}$`)
	pagingMember = regexp.MustCompile(`"([^"\\]+)"\s*:\s*"?\$\{\s*page\.[a-zA-Z]+\s*\}`)
)
