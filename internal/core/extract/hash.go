package extract

import (
	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/record"
)

// Hasher computes the content hash of an item from the bytes that are stored of it.
type Hasher struct{ canonical *document.Canonicalizer }

// NewHasher makes the hasher of an endpoint. It is nil where an item cannot be read
// without the answer it came in: a row of CSV lacks its header, an element of XML its
// place, a member its name.
func NewHasher(c Config) (*Hasher, error) {
	c = c.WithDefaults()
	if !c.standsAlone() {
		return nil, nil
	}
	canonical, err := document.NewCanonicalizer(c.Volatile)
	if err != nil {
		return nil, err
	}
	return &Hasher{canonical}, nil
}

// Hash returns the content hash of an item, as Reader computes it.
func (h *Hasher) Hash(item []byte) (record.Digest, error) {
	canonical, err := h.canonical.Append(nil, item)
	return record.DigestOf(canonical), err
}
