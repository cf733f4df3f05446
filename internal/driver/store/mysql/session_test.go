package mysql_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// What a proxy or an init script may do to a session (D§5.21): the store must
// refuse to work, because the same statement would mean something else.
func TestASessionThatDiffersIsRefused(t *testing.T) {
	address := mariadb.DSN(t)
	rewrite := func(old, new string) *proxy {
		return &proxy{statement: func(query []byte) fate { swap(t, query, old, new); return deliver }}
	}
	for name, c := range map[string]struct {
		proxy *proxy
		tells string
	}{
		"time zone": {rewrite("'+00:00'", "'+02:00'"), "time zone"},
		"sql mode":  {rewrite("STRICT_ALL_TABLES", "IGNORE_SPACE,ANSI"), "sql_mode"},
		"isolation": {rewrite("LEVEL READ COMMITTED", "LEVEL SERIALIZABLE  "), "isolation"},
		"collation": {&proxy{hello: func(p []byte) { p[8] = 45 /* utf8mb4_general_ci */ }}, "collation"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := mysql.Open(t.Context(), c.proxy.through(t, address), store.Options{})
			if err == nil {
				_ = s.Close()
				t.Fatal("the session was accepted")
			}
			if !strings.Contains(err.Error(), c.tells) {
				t.Errorf("error %q does not name the %s", err, c.tells)
			}
		})
	}
	t.Run("an honest proxy", func(t *testing.T) {
		s, err := mysql.Open(t.Context(), (&proxy{}).through(t, address), store.Options{})
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		_ = s.Close()
	})
}

// A worker that renews twice within one microsecond changes nothing the second
// time; it must still be counted as the owner.
func TestAnUpdateThatChangesNothingStillCounts(t *testing.T) {
	address := mariadb.DSN(t)
	s := open(t, address, store.Options{})
	migrate(t, s)
	id := trigger(t, s)
	for range 2 {
		if err := s.NoteTrigger(t.Context(), id, []byte(`{"same":1}`)); err != nil {
			t.Errorf("the row matches and did not count: %v", err)
		}
	}
}

// The session is verified; this holds the transactions to it as well. What they
// ask for shows on the wire.
func TestTransactionsAreReadCommitted(t *testing.T) {
	address := mariadb.DSN(t)
	migrate(t, open(t, address, store.Options{}))
	var mu sync.Mutex
	var levels []string
	begun := 0
	p := &proxy{statement: func(query []byte) fate {
		mu.Lock()
		defer mu.Unlock()
		if _, level, found := strings.Cut(string(query), "ISOLATION LEVEL "); found {
			levels = append(levels, level)
		}
		if string(query) == "START TRANSACTION" {
			begun++
		}
		return deliver
	}}
	s := open(t, p.through(t, address), store.Options{})
	if err := s.NoteTrigger(t.Context(), trigger(t, s), []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if begun != 2 || len(levels) == 0 {
		t.Errorf("%d transactions for two steps, levels %q", begun, levels)
	}
	for _, level := range levels {
		if level != "READ COMMITTED" {
			t.Errorf("isolation level %s was asked for", level)
		}
	}
}
