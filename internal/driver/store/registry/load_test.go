package registry_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// counted opens connections that count what is asked of them.
type counted struct {
	plain   driver.Driver
	file    string
	queries *atomic.Int64
}

func (c counted) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.plain.Open(c.file)
	return countedConn{conn, c.queries}, err
}

func (c counted) Driver() driver.Driver { return c.plain }

type countedConn struct {
	driver.Conn
	queries *atomic.Int64
}

func (c countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.queries.Add(1)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.queries.Add(1)
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c countedConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

// wideSource has so many endpoints, and so many fields, rules, parameters and
// operations in each.
func wideSource(t *testing.T, width int) *registry.Source {
	t.Helper()
	var b strings.Builder
	b.WriteString("source: wide\nname: Wide\nhttp: {baseUrl: https://wide.example}\nendpoints:\n")
	for i := range width {
		fmt.Fprintf(&b, "  e%d:\n    role: SEARCH\n    request: {path: /works}\n    operations:\n      BACKFILL: {paging: {size: 9}}\n", i)
		fields, rules, params := "    query:\n      fields:\n", "      rules:\n", "    params:\n"
		for k := range width {
			fields += fmt.Sprintf("        f%d: {type: KEYWORD}\n", k)
			rules += fmt.Sprintf("        r%d: {field: f%d, op: TERM, template: \"x:${v}\"}\n", k, k)
			params += fmt.Sprintf("      p%d: {name: q%d}\n", k, k)
		}
		b.WriteString(fields + rules + params)
	}
	src, _, err := registry.Decode("wide.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// §3.7: a source is read in batches, one query a table, however much it says.
func TestLoadingASourceTakesAsManyQueriesHoweverWideItIs(t *testing.T) {
	read := map[int]int64{}
	for _, width := range []int{1, 12} {
		path := filepath.Join(t.TempDir(), "patra.db")
		src := wideSource(t, width)
		if _, err := localstore.Migrated(t, sqlite.Config{Path: path}).ApplySource(t.Context(), src, registry.ApplyOptions{}); err != nil {
			t.Fatal(err)
		}
		var queries atomic.Int64
		s := localstore.Open(t, sqlite.Config{Path: path}, store.Options{}, func(write, read *sql.DB) (*sql.DB, *sql.DB) {
			return write, sql.OpenDB(counted{read.Driver(), path, &queries})
		})
		got, ok, err := s.LoadSource(t.Context(), "wide")
		if err != nil || !ok || len(got.Endpoints) != width || len(got.Endpoints["e0"].Query.Rules) != width {
			t.Fatalf("width %d: found=%v %v", width, ok, err)
		}
		read[width] = queries.Load()
	}
	if read[1] != read[12] || read[1] < int64(len(registry.RowTables())) || read[1] > int64(len(registry.RowTables()))+2 {
		t.Errorf("queries by width: %v, want as many as there are tables (%d) and one or two", read, len(registry.RowTables()))
	}
}
