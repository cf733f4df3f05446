package bench

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// compiler freezes the bundled source from a database it was applied to.
type compiler struct {
	app       *daemon.App
	store     *store.Store // the same database, beside the app
	overrides []registry.Override
	canonical []byte // the snapshot, as the plan keeps it

	db       *sql.DB // the same database, beside the store
	one, doc *sql.Stmt
}

func newCompiler(tb testing.TB, k kind) *compiler {
	tb.Helper()
	base := k.fresh(tb)
	db := base.open(tb, false)
	app, err := daemon.Open(tb.Context(), daemon.Config{Database: base.address})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = app.Close() })
	src, err := daemon.Bundled("crossref")
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := app.Definitions.Apply(tb.Context(), src, registry.ApplyOptions{}); err != nil {
		tb.Fatal(err)
	}
	set, err := registry.ParseOverride("paging.size=50")
	if err != nil {
		tb.Fatal(err)
	}
	c := &compiler{app: app, store: db, overrides: []registry.Override{set}, db: base.bare(tb, 1, "FULL")}
	compiled, err := c.compile(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	c.canonical = compiled.Canonical
	exec(tb, c.db, "CREATE TABLE plain (id BIGINT PRIMARY KEY, doc "+map[string]string{"SQLite": "BLOB", "MariaDB": "LONGBLOB"}[k.name]+" NOT NULL)")
	for id := range 100 {
		exec(tb, c.db, "INSERT INTO plain (id, doc) VALUES (?, ?)", id, c.canonical)
	}
	c.one, c.doc = c.prepare(tb, "SELECT id FROM plain WHERE id = ?"), c.prepare(tb, "SELECT doc FROM plain WHERE id = ?")
	return c
}

func (c *compiler) prepare(tb testing.TB, query string) *sql.Stmt {
	tb.Helper()
	stmt, err := c.db.PrepareContext(tb.Context(), query)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = stmt.Close() })
	return stmt
}

func (c *compiler) compile(ctx context.Context, overrides []registry.Override) (*spec.Compiled, error) {
	return c.app.Compile(ctx, "crossref", "works", ingest.Harvest, overrides)
}

// cold does what the first plan after a start does: everything is read.
func (c *compiler) cold(ctx context.Context) (*spec.Compiled, error) {
	codes, err := c.store.Dictionary(ctx)
	if err != nil {
		return nil, err
	}
	src, applied, err := c.store.LoadSource(ctx, "crossref")
	if err != nil || !applied {
		return nil, fmt.Errorf("load source: applied %v, %w", applied, err)
	}
	resolved, err := daemon.Resolve(src, "works", ingest.Harvest, nil)
	if err != nil {
		return nil, err
	}
	if err := resolved.UnknownCodes(codes).Err(); err != nil {
		return nil, err
	}
	return spec.Compile(resolved)
}

// row is the least a database can be asked: one number by its key.
func (c *compiler) row(ctx context.Context) error {
	var id int64
	return c.one.QueryRowContext(ctx, 7).Scan(&id)
}

// stored is the least that ends with a snapshot: it lies there as one document,
// and is read by its key and decoded. Nothing is merged, checked or hashed.
func (c *compiler) stored(ctx context.Context) (spec.Snapshot, error) {
	var doc []byte
	if err := c.doc.QueryRowContext(ctx, 7).Scan(&doc); err != nil {
		return spec.Snapshot{}, err
	}
	return spec.Load(doc)
}

// benchCompile measures how long a plan waits for its snapshot.
func benchCompile(b *testing.B, k kind, out *table) {
	c := newCompiler(b, k)
	ctx := b.Context()
	var warm, fresh, cold, row, stored samples
	repeat(b, 100, func() {
		warm.time(b, func() error { _, err := c.compile(ctx, nil); return err })
		row.time(b, func() error { return c.row(ctx) })
		fresh.time(b, func() error { _, err := c.compile(ctx, c.overrides); return err })
		stored.time(b, func() error { _, err := c.stored(ctx); return err })
		cold.time(b, func() error { _, err := c.cold(ctx); return err })
	})
	add := func(what string, ours, reference samples, reads string) {
		what = fmt.Sprintf("compile a snapshot from the database, %s, %s (mean / p95)", what, k.name)
		out.add(b, line{what, ours.String(), reference.String(), ours.middle(reference), reads + "; medians"})
	}
	document := fmt.Sprintf("our time / read the %d KB snapshot as one document and decode it", len(c.canonical)/1000)
	add("warm: unchanged source", warm, row, "our time / select one number by its key")
	add("warm: unchanged source", warm, stored, document)
	add("warm, with an override", fresh, stored, document)
	add("cold: everything read", cold, stored, document)
}

// All ways must end with the same snapshot, or their times mean nothing.
func TestCompilersAgree(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			c := newCompiler(t, k)
			cold, err := c.cold(t.Context())
			if err != nil || string(cold.Canonical) != string(c.canonical) {
				t.Errorf("cold: %v, %s", err, cold.Canonical)
			}
			stored, err := c.stored(t.Context())
			if err != nil || stored.Paging.Size != cold.Snapshot.Paging.Size || stored.Endpoint != cold.Snapshot.Endpoint {
				t.Errorf("stored: %v, %+v", err, stored)
			}
			own, err := c.compile(t.Context(), c.overrides)
			if err != nil || own.Snapshot.Paging.Size != 50 {
				t.Errorf("with an override: %v, %+v", err, own)
			}
			if err := c.row(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
