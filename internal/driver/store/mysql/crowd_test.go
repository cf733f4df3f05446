package mysql_test

import (
	"os"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/storetest"
)

// Sixteen processes move one cursor. The full size is a proof.
func TestProofSixteenWorkersOnOneCursor(t *testing.T) {
	slices := 400
	if os.Getenv("PATRA_PROOF") != "" {
		slices = 10_000
	}
	address := mariadb.DSN(t)
	migrate(t, open(t, address, store.Options{}))
	storetest.Crowd(t, at(t, address), 16, slices)
}
