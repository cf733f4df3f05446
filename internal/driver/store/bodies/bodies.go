// Package bodies knows how the versions of records are stored: their ids, how they
// are packed, the checksums that seal them, and what can be told of one that has none.
//
// All rooms that write or read a version stand on it. It must never hand out content
// that does not fit its checksum (decision 45).
package bodies

import (
	"sync"

	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Bodies checks stored versions. It is safe for concurrent use.
type Bodies struct {
	db *kernel.DB
	// contentRules are how content hashes are made, by the fingerprint of a snapshot.
	contentRules sync.Map
}

// New checks the versions of a database.
func New(db *kernel.DB) *Bodies { return &Bodies{db: db} }
