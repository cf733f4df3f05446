package archive_test

import (
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store/archive"
	"github.com/patra-ingest/patra/internal/testkit/flat"
)

// flatQueries are questions of this room whose cost must not grow with the tables.
func flatQueries(_ string) []flat.Query {
	return []flat.Query{
		flat.NewQuery(
			"records behind one", archive.HeadsBehindSQL, []any{1, []byte("a"), 1000},
			"SEARCH ing_record USING PRIMARY KEY (dataset_id=? AND id_hash>?)", "ing_record PRIMARY",
		),
	}
}

func TestFlatQueriesOfSQLite(t *testing.T) { flat.OnSQLite(t, flatQueries) }

func TestFlatQueriesOfMariaDB(t *testing.T) { flat.OnMariaDB(t, flatQueries) }
