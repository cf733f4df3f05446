package event

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// Ref is what a reference to the data of an event names.
type Ref struct {
	Source, Endpoint, RecordID string
	Version                    int
}

// String returns the reference as a text.
func (r Ref) String() string {
	return "patra://" + url.PathEscape(r.Source) + "/" + url.PathEscape(r.Endpoint) + "/" + url.PathEscape(r.RecordID) + "?version=" + strconv.Itoa(r.Version)
}

// ParseReference reads what Reference wrote.
func ParseReference(text string) (r Ref, err error) {
	wrong := fmt.Errorf("%w: %.80q is no dataref of an event: expected patra://SOURCE/ENDPOINT/ID?version=N", fault.ErrInvalid, text)
	path, ours := strings.CutPrefix(text, "patra://")
	path, query, asked := strings.Cut(path, "?")
	parts := strings.Split(path, "/") // an id's own slashes are escaped
	if !ours || !asked || len(parts) != 3 {
		return r, wrong
	}
	for i, into := range []*string{&r.Source, &r.Endpoint, &r.RecordID} {
		if *into, err = url.PathUnescape(parts[i]); err != nil || *into == "" {
			return Ref{}, wrong
		}
	}
	number, named := strings.CutPrefix(query, "version=")
	if r.Version, err = strconv.Atoi(number); err != nil || !named || r.Version < 1 {
		return Ref{}, wrong
	}
	return r, nil
}

// Data returns the data of an event as it would have travelled: an event that
// went without it names its size and SHA-256.
func Data(c Change, how Content) []byte { return appendContent(nil, c, how) }
