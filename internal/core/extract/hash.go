package extract

import (
	"crypto/sha256"

	"github.com/patra-ingest/patra/internal/core/document"
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
func (h *Hasher) Hash(item []byte) ([32]byte, error) {
	canonical, err := h.canonical.Append(nil, item)
	return sha256.Sum256(canonical), err
}
