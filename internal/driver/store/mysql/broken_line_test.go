package mysql_test

import (
	"bytes"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/storetest"
)

func trigger(t *testing.T, s *store.Store) int64 {
	t.Helper()
	id, err := s.RecordTrigger(t.Context(), ingest.Trigger{
		Key: "key", Scheduler: "cron", Type: ingest.TriggerManual, At: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), Source: "crossref",
	})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The line breaks at the commit: the store cannot know whether it happened. It
// redoes the step, and either way there is one row.
func TestCommitWhoseAnswerIsLost(t *testing.T) {
	for name, how := range map[string]fate{"commit done, answer lost": muteness, "commit lost": swallow} {
		t.Run(name, func(t *testing.T) {
			address := mariadb.DSN(t)
			migrate(t, open(t, address, store.Options{}))
			var broken atomic.Int32
			p := &proxy{statement: func(query []byte) fate {
				if bytes.Equal(query, []byte("COMMIT")) && broken.Add(1) == 1 {
					return how
				}
				return deliver
			}}
			s := open(t, p.through(t, address), store.Options{})
			id := trigger(t, s)
			if n := broken.Load(); n != 2 {
				t.Errorf("%d commits, want the broken one and its repetition", n-1)
			}
			if again := trigger(t, s); again != id {
				t.Errorf("ids %d and %d", id, again)
			}
			var rows int
			if err := raw(t, address).QueryRow("SELECT COUNT(*) FROM ing_schedule_instance").Scan(&rows); err != nil || rows != 1 {
				t.Errorf("%d rows (%v), want 1", rows, err)
			}
		})
	}
}

// The line breaks while dispatch looks at the queue: whoever looks is told that the
// database is away, and looks again later.
func TestLooksWhoseAnswerIsLost(t *testing.T) {
	address := mariadb.DSN(t)
	migrate(t, open(t, address, store.Options{}))
	looks := map[string]func(*store.Store) error{
		"queues":   func(s *store.Store) error { _, err := s.Queues(t.Context()); return err },
		"now":      func(s *store.Store) error { _, err := s.Now(t.Context()); return err },
		"next due": func(s *store.Store) error { _, err := s.NextDue(t.Context()); return err },
		"progress": func(s *store.Store) error { _, err := s.Progress(t.Context(), 1); return err },
	}
	for name, look := range looks {
		var armed atomic.Bool
		var broken atomic.Int32
		p := &proxy{statement: func(query []byte) fate {
			if armed.Load() && bytes.HasPrefix(query, []byte("SELECT ")) {
				broken.Add(1)
				return muteness
			}
			return deliver
		}}
		s := open(t, p.through(t, address), store.Options{})
		armed.Store(true)
		if err := look(s); !errors.Is(err, fault.ErrBusy) || broken.Load() == 0 {
			t.Errorf("%s: %v after %d broken lines", name, err, broken.Load())
		}
	}
}

// The server cannot roll back DDL. A migration that is killed again and again,
// before a statement or between a statement and its note, must come out the same.
func TestKilledMigrationsAreContinued(t *testing.T) {
	whole := mariadb.DSN(t)
	migrate(t, open(t, whole, store.Options{}))
	want := storetest.Catalogue(t, raw(t, whole), "mysql")

	address := mariadb.DSN(t)
	kills := 0
	for done := false; !done; {
		patience := 1 + kills%17 // lines of different length
		how := []fate{swallow, muteness}[kills%2]
		var statements atomic.Int32
		p := &proxy{statement: func(query []byte) fate {
			if bytes.HasPrefix(query, []byte("CREATE ")) && int(statements.Add(1)) == patience+1 {
				return how
			}
			return deliver
		}}
		s := open(t, p.through(t, address), store.Options{})
		_, err := s.Migrate(t.Context())
		if done = err == nil; !done {
			kills++
		}
	}
	if kills < 10 {
		t.Errorf("only %d kills: the migration was not really disturbed", kills)
	}
	if got := storetest.Catalogue(t, raw(t, address), "mysql"); !reflect.DeepEqual(got, want) {
		t.Errorf("after %d kills the schema has %d lines, undisturbed %d", kills, len(got), len(want))
	}
	status, err := open(t, address, store.Options{}).Schema(t.Context())
	if err != nil || len(status.Pending) != 0 {
		t.Errorf("status %+v (%v)", status, err)
	}
}

// A program that died after the last statement and before the final note. Versions that
// make tables anew are the ones that could lose something.
func TestMigrationKilledBeforeItsLastNote(t *testing.T) {
	for _, test := range []struct {
		version int
		tampers []string
	}{
		{3, []string{"finished_at = NULL", "finished_at = NULL, statements_done = statements_done - 1", "finished_at = NULL, statements_done = 0"}},
		{28, []string{"finished_at = NULL", "finished_at = NULL, statements_done = statements_done - 1"}},
	} {
		address := mariadb.DSN(t)
		s := open(t, address, store.Options{Schema: test.version})
		migrate(t, s)
		db := raw(t, address)
		for _, tamper := range test.tampers {
			if _, err := db.Exec("UPDATE patra_schema_version SET "+tamper+" WHERE version = ?", test.version); err != nil {
				t.Fatal(err)
			}
			before := storetest.Catalogue(t, db, "mysql")
			migrate(t, s)
			if after := storetest.Catalogue(t, db, "mysql"); !reflect.DeepEqual(before, after) {
				t.Errorf("version %d, %s: the schema changed", test.version, tamper)
			}
			if status, err := s.Schema(t.Context()); err != nil || len(status.Pending) != 0 {
				t.Errorf("version %d, %s: status %+v (%v)", test.version, tamper, status, err)
			}
		}
	}
}
