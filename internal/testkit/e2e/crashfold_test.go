package e2e

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// kill -9 while versions are moved into frames: each is in a row or in a frame, none in
// both, and the next process brings it to its end.
func TestKilledWhileVersionsAreFolded(t *testing.T) {
	token := ofKind(t, "token")
	for name, database := range map[string]func(*testing.T) string{"sqlite": sqliteFile, "mariadb": func(t *testing.T) string { return mariadb.DSN(t) }} {
		t.Run(name, func(t *testing.T) {
			s := token.start(t, database(t), upsim.Options{})
			s.finish()
			before, rows, _ := s.layout()
			if rows == 0 {
				t.Fatal("no version has a row: nothing is to be folded")
			}
			cmd, output := s.armed(fmt.Sprintf("%s:1:kill", crash.Folding), "db", "compact")
			_ = cmd.Wait()
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
				t.Fatalf("it ended with %v instead of dying: %s", cmd.ProcessState, output)
			}
			if digest, left, _ := s.layout(); digest != before || left != rows {
				t.Errorf("after the death %d rows are left of %d, and the digest is %s instead of %s", left, rows, digest, before)
			}
			s.whole()
			db := s.writable()
			if _, err := db.Exec("DELETE FROM ing_named_lease"); err != nil { // a minute passes
				t.Fatal(err)
			}
			s.must("db", "compact")
			if digest, left, frames := s.layout(); digest != before || left != 0 || frames == 0 {
				t.Errorf("%d rows are left, %d frames are there, and the digest is %s instead of %s", left, frames, digest, before)
			}
			s.whole()
			s.must("db", "check")
		})
	}
}

// layout tells what a database holds, and how its versions stand.
func (s *subject) layout() (digest string, rows, frames int) {
	s.t.Helper()
	db, err := check.Open(s.database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if digest, err = check.Digest(s.t.Context(), db); err == nil {
		err = db.QueryRow("SELECT (SELECT COUNT(*) FROM ing_record_body), (SELECT COUNT(*) FROM ing_body_frame)").Scan(&rows, &frames)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return digest, rows, frames
}
