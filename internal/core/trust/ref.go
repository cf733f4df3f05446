package trust

import (
	"errors"
	"strings"

	"github.com/patra-ingest/patra/internal/core/secret"
)

// Ref names what leaves this machine: a secret by its reference, or what is stored of an
// endpoint of another source (records:SOURCE/ENDPOINT). Only consent knows the second kind: no
// credential can name it.
type Ref struct {
	secret  secret.Ref
	records string
}

// recordsScheme stands before the dataset whose records are sent.
const recordsScheme = "records"

var errRecords = errors.New("records: needs a source and an endpoint, such as records:crossref/works")

// OfSecret is the reference of a secret.
func OfSecret(ref secret.Ref) Ref { return Ref{secret: ref} }

// OfRecords is the reference of what is stored of an endpoint, written SOURCE/ENDPOINT.
func OfRecords(of string) Ref { return Ref{records: of} }

// Secret returns the reference of the secret; zero: records are meant.
func (r Ref) Secret() secret.Ref { return r.secret }

// IsRecords reports whether stored records are meant.
func (r Ref) IsRecords() bool { return r.records != "" }

// UnmarshalText reads a reference and refuses everything else.
func (r *Ref) UnmarshalText(text []byte) error {
	records, is := strings.CutPrefix(string(text), recordsScheme+":")
	if !is {
		*r = Ref{}
		return r.secret.UnmarshalText(text)
	}
	source, endpoint, found := strings.Cut(records, "/")
	if !found || source == "" || endpoint == "" || strings.ContainsAny(records, " \t\r\n") || strings.Contains(endpoint, "/") {
		return errRecords
	}
	*r = Ref{records: records}
	return nil
}

// MarshalText writes the reference as it was given.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r Ref) String() string {
	if r.IsRecords() {
		return recordsScheme + ":" + r.records
	}
	return r.secret.String()
}

// Split gives the scheme (env, file, exec or records) and what it names.
func (r Ref) Split() (scheme, name string) {
	if r.IsRecords() {
		return recordsScheme, r.records
	}
	return r.secret.Split()
}
