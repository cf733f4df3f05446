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
	for _, part := range []map[string]Texts{c.Query, c.Form, c.Next.Query, c.Next.Form} {
		for _, name := range slices.Sorted(maps.Keys(part)) {
			if slices.ContainsFunc(part[name], isPagingOnly) {
				out = append(out, SentName(name))
			}
		}
	}
	for _, found := range pagingMember.FindAllStringSubmatch(c.Body+" "+c.Next.Body, -1) {
		out = append(out, SentName(found[1]))
	}
	return out
}

func isPagingOnly(text string) bool { return pagingOnly.MatchString(strings.TrimSpace(text)) }

var (
	pagingOnly   = regexp.MustCompile(`^\$\{\s*page\.[a-zA-Z]+\s*\}$`)
	pagingMember = regexp.MustCompile(`"([^"\\]+)"\s*:\s*"?\$\{\s*page\.[a-zA-Z]+\s*\}`)
)
