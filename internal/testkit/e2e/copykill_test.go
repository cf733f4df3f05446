package e2e

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// kill -9 in the middle of a copy, at its first table, at one of the middle and at the
// last: every command refuses what is there, the original is as it was, and the next
// copy is whole (decision 96).
func TestKilledWhileADatabaseIsCopied(t *testing.T) {
	token := ofKind(t, "token")
	s := token.start(t, sqliteFile(t), upsim.Options{})
	s.finish()
	before, _, _ := s.layout()
	file := "sqlite:" + filepath.Join(t.TempDir(), "copy.db")
	for name, target := range map[string]string{"sqlite": file, "mariadb": mariadb.DSN(t)} {
		t.Run(name, func(t *testing.T) {
			tables := countTables(t, s.database)
			for _, passage := range []int{1, tables / 2, tables} {
				cmd, output := s.armed(fmt.Sprintf("%s:%d:kill", crash.Copying, passage), "db", "copy", "--to", target)
				_ = cmd.Wait()
				if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
					t.Fatalf("passage %d: it ended with %v instead of dying: %s", passage, cmd.ProcessState, output)
				}
				copied := *s.world
				copied.database = target
				for _, args := range [][]string{{"status"}, {"db", "check"}, {"db", "migrate"}} {
					if code, out, _ := copied.patra(args...); code == 0 {
						t.Errorf("passage %d: %v takes half of a copy: %s", passage, args, out)
					}
				}
			}
			s.must("db", "copy", "--to", target)
			if after, _, _ := s.layout(); after != before {
				t.Errorf("the original has the digest %s instead of %s", after, before)
			}
			at := *s.world
			at.t, at.database = t, target
			copied := subject{world: &at, source: s.source}
			if got, _, _ := copied.layout(); got != before {
				t.Errorf("the copy has the digest %s instead of %s", got, before)
			}
			copied.must("db", "check")
		})
	}
}

// countTables tells how many tables are copied.
func countTables(t *testing.T, database string) (n int) {
	t.Helper()
	db, err := check.Open(database)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'patra_schema_version'").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
