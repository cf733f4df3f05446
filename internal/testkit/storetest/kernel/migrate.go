package kernel

import (
	"reflect"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

func (s suite) migrations(t *testing.T) {
	known, err := kernel.Migrations()
	if err != nil || len(known) == 0 {
		t.Fatalf("%d migrations: %v", len(known), err)
	}
	latest := known[len(known)-1].Version
	s.bare(t, "a fresh database gets every version", func(w *world) {
		status, err := w.Store.Schema(w.Ctx)
		w.Must(err)
		if status.Current != 0 || status.Latest != latest || len(status.Pending) != len(known) {
			w.Errorf("before: %+v", status)
		}
		done, err := w.Store.Migrate(w.Ctx)
		w.Must(err)
		if len(done) != len(known) {
			w.Errorf("applied %d of %d versions", len(done), len(known))
		}
		w.upToDate(latest)
		if n := w.Number("SELECT COUNT(*) FROM patra_schema_version WHERE finished_at IS NOT NULL AND statements_done > 0"); n != int64(len(known)) {
			w.Errorf("%d finished versions on record, want %d", n, len(known))
		}
	})
	s.bare(t, "migrating again does nothing", func(w *world) {
		_, err := w.Store.Migrate(w.Ctx)
		w.Must(err)
		w.Plan(fixture.Harvest{})
		before := fixture.Catalogue(w.T, w.DB.SQL, w.Store.Dialect())
		digest := fixture.Digest(w.T, w.DB.SQL, w.Store.Dialect())
		done, err := w.Store.Migrate(w.Ctx)
		w.Must(err)
		if len(done) != 0 {
			w.Errorf("applied %d versions again", len(done))
		}
		if fixture.Digest(w.T, w.DB.SQL, w.Store.Dialect()) != digest || !reflect.DeepEqual(fixture.Catalogue(w.T, w.DB.SQL, w.Store.Dialect()), before) {
			w.Error("the second migration changed the database")
		}
	})
	s.test(t, "a newer database is refused and stays as it is", func(w *world) {
		w.Plan(fixture.Harvest{})
		w.Exec("INSERT INTO patra_schema_version (version, name, checksum, statements_done, started_at, finished_at) VALUES (9999,'future','x',1,1,1)")
		w.refusesSchema(fault.ErrNewerSchema)
		w.Exec("UPDATE patra_schema_version SET finished_at = NULL WHERE version = 9999") // a newer program is at it just now
		w.refusesSchema(fault.ErrNewerSchema)
	})
	s.test(t, "a changed history is refused", func(w *world) {
		w.Exec("UPDATE patra_schema_version SET checksum = 'other' WHERE version = 1")
		w.refusesSchema(nil)
	})
	s.bare(t, "programs that start together migrate once", func(w *world) {
		handles := w.Handles(4)
		applied := make([]int, len(handles))
		w.Together(len(handles), func(i int) error {
			done, err := handles[i].Migrate(w.Ctx)
			applied[i] = len(done)
			return err
		})
		sum := 0
		for _, n := range applied {
			sum += n
		}
		if sum != len(known) {
			w.Errorf("they say that they applied %v versions, there are %d", applied, len(known))
		}
		w.upToDate(latest)
		alone := s.world(w.T)
		if got, want := fixture.Catalogue(w.T, w.DB.SQL, w.Store.Dialect()), fixture.Catalogue(w.T, alone.DB.SQL, alone.Store.Dialect()); !reflect.DeepEqual(got, want) {
			w.Errorf("together they built\n%s\nalone\n%s", strings.Join(fixture.Only(got, want), "\n"), strings.Join(fixture.Only(want, got), "\n"))
		}
	})
	s.bare(t, "reading the version of an empty database leaves it empty", func(w *world) {
		_, err := w.Store.Schema(w.Ctx)
		w.Must(err)
		query := "SELECT COUNT(*) FROM sqlite_master"
		if w.Store.Dialect() != "sqlite" {
			query = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
		}
		if n := w.Number(query); n != 0 {
			w.Errorf("%d objects in the database", n)
		}
	})
}

func (w *world) upToDate(latest int) {
	w.Helper()
	status, err := w.Store.Schema(w.Ctx)
	w.Must(err)
	if status.Current != latest || status.Latest != latest || len(status.Pending) != 0 {
		w.Errorf("schema status %+v, want version %d and nothing pending", status, latest)
	}
}

// refusesSchema expects that neither reading nor migrating is possible, and that
// both leave the database as it is. A nil kind stands for any error.
func (w *world) refusesSchema(kind error) {
	w.Helper()
	before := fixture.Catalogue(w.T, w.DB.SQL, w.Store.Dialect())
	digest := fixture.Digest(w.T, w.DB.SQL, w.Store.Dialect())
	_, err := w.Store.Schema(w.Ctx)
	_, migrateErr := w.Store.Migrate(w.Ctx)
	if kind != nil {
		w.Refuses(err, kind, "schema")
		w.Refuses(migrateErr, kind, "migrate")
	} else if err == nil || migrateErr == nil {
		w.Errorf("schema: %v, migrate: %v, want both refused", err, migrateErr)
	}
	if fixture.Digest(w.T, w.DB.SQL, w.Store.Dialect()) != digest || !reflect.DeepEqual(fixture.Catalogue(w.T, w.DB.SQL, w.Store.Dialect()), before) {
		w.Error("the refused database was changed")
	}
}
