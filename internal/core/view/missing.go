package view

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

// MissingRecords are those of an endpoint that the upstream did not have when it was
// asked, and that are not taken for deleted yet.
type MissingRecords struct {
	ingest.Dataset
	Records int64     `json:"records"`
	Since   time.Time `json:"since"`   // of the first of them
	LooksAt time.Time `json:"looksAt"` // when the first of them is looked at again
}
