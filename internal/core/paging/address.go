package paging

import (
	"net/url"
	"strings"
)

// followAddress returns the address of the next page, as the page at current names
// it. A relative one is meant from there; a state holds addresses as they are from
// the first page, which has none ("").
func followAddress(current, named string) string {
	ref, err := url.Parse(strings.ReplaceAll(named, " ", "%20"))
	if current == "" || err != nil || ref.Scheme != "" || ref.Host != "" || ref.Opaque != "" || strings.HasPrefix(named, "/") {
		return named // says by itself where it is, or cannot be read and is refused later
	}
	from, err := url.Parse(strings.ReplaceAll(current, " ", "%20"))
	switch {
	case err != nil || named == "":
		return named
	case from.Path == "" && from.Host == "":
		return named // the same place as the first page, asked with other parameters
	case from.Host != "" || strings.HasPrefix(from.Path, "/"):
		return from.ResolveReference(ref).String()
	}
	if from, err = url.Parse("/" + strings.ReplaceAll(current, " ", "%20")); err != nil {
		return named
	}
	return strings.TrimPrefix(from.ResolveReference(ref).String(), "/")
}
