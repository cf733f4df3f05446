package mysql_test

import (
	"bytes"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/storetest"
)

// Tables are rebuilt with their rows in them. A program that is killed at any
// statement, or between a statement and its note, must lose none.
func TestKilledUpgradeKeepsSources(t *testing.T) {
	address := mariadb.DSN(t)
	migrate(t, open(t, address, store.Options{Schema: 2}))
	first, second := storetest.OldSources(t, raw(t, address))
	kills := 0
	for done := false; !done; kills++ {
		how := []fate{swallow, muteness}[kills%2]
		var statements atomic.Int32
		p := &proxy{statement: func(query []byte) fate {
			disturb := slices.ContainsFunc([]string{"CREATE TABLE reg", "CREATE UNIQUE", "DROP ", "ALTER ", "INSERT INTO reg"}, func(start string) bool {
				return bytes.HasPrefix(query, []byte(start))
			})
			if disturb && statements.Add(1) == 2 {
				return how
			}
			return deliver
		}}
		_, err := open(t, p.through(t, address), store.Options{}).Migrate(t.Context())
		done = err == nil
	}
	if kills < 30 {
		t.Errorf("only %d kills: the upgrade was not really disturbed", kills)
	}
	s := open(t, address, store.Options{})
	for at, want := range map[time.Time]*registry.Source{
		time.Date(2025, 3, 18, 12, 0, 0, 0, time.UTC): first, time.Date(2025, 3, 19, 12, 0, 0, 0, time.UTC): second,
	} {
		got, ok, err := s.LoadSourceAt(t.Context(), "tiny", at)
		if err != nil || !ok {
			t.Fatalf("at %v: found=%v %v", at, ok, err)
		}
		if changes := registry.Diff(want, got); changes != nil {
			t.Errorf("at %v: %+v", at, changes)
		}
	}
	if versions, err := s.SourceHistory(t.Context(), "tiny"); err != nil || len(versions) != 2 {
		t.Errorf("%d versions (%v), want 2", len(versions), err)
	}
}
