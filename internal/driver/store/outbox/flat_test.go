package outbox_test

import (
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store/outbox"
	"github.com/patra-ingest/patra/internal/testkit/flat"
)

// flatQueries are questions of this room whose cost must not grow with the tables.
func flatQueries(_ string) []flat.Query {
	return []flat.Query{
		flat.NewQuery(
			"events of a source after one", outbox.LaterSQL, []any{"PENDING", 1, 5000, 100},
			"SEARCH ing_outbox_message USING COVERING INDEX idx_outbox_lane (status_code=? AND aggregate_id=? AND rowid>?)", "ing_outbox_message idx_outbox_lane",
		),
		flat.NewQuery(
			"the newest events of a source", outbox.NewerSQL, []any{"PENDING", 1, 1 << 40, 11},
			"SEARCH ing_outbox_message USING COVERING INDEX idx_outbox_lane (status_code=? AND aggregate_id=? AND rowid<?)", "ing_outbox_message idx_outbox_lane",
		),
	}
}

func TestFlatQueriesOfSQLite(t *testing.T) { flat.OnSQLite(t, flatQueries) }

func TestFlatQueriesOfMariaDB(t *testing.T) { flat.OnMariaDB(t, flatQueries) }
