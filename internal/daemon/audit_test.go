package daemon

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// A37: the head of the audit log is in the stream of the process's log, each time
// it moves; one that was told and is gone is an alarm.
func TestHeadOfTheAuditLogIsTold(t *testing.T) {
	for name, database := range map[string]func(t testing.TB) string{
		"sqlite":  func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "patra.db") },
		"mariadb": mariadb.DSN,
	} {
		t.Run(name, func(t *testing.T) {
			address := database(t)
			var log bytes.Buffer
			app, err := Open(t.Context(), Config{Database: address, Log: slog.New(slog.NewTextHandler(&log, nil)), SkipSchema: true})
			if err != nil {
				t.Fatal(err)
			}
			defer app.Close()
			if _, err := app.store.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			around, err := check.Open(address)
			if file, ok := strings.CutPrefix(address, "sqlite:"); ok {
				around, err = sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(60000)")
			}
			if err != nil {
				t.Fatal(err)
			}
			defer around.Close()
			last := audit.Entry{}
			step := func(want ...string) {
				t.Helper()
				log.Reset()
				if last, err = app.noteHead(t.Context(), last); err != nil {
					t.Fatal(err)
				}
				for _, text := range want {
					if !strings.Contains(log.String(), text) {
						t.Errorf("%q is not in %s", text, &log)
					}
				}
				if len(want) == 0 && log.Len() > 0 {
					t.Errorf("told %s", &log)
				}
			}
			act := func(do func(context.Context, ingest.Scope, ingest.Act) (ingest.Pause, bool, error)) {
				t.Helper()
				if _, _, err := do(t.Context(), ingest.Scope{Source: "crossref"}, ingest.Act{Actor: "jane", Reason: "why"}); err != nil {
					t.Fatal(err)
				}
			}
			step(audit.Root())
			step()
			act(app.store.PauseSource)
			step("level=INFO", "head=")
			first := last
			step()
			act(app.store.ResumeSource)
			step("head=")
			if !strings.Contains(log.String(), last.Hash) || last.Previous != first.Hash {
				t.Errorf("%+v in %s", last, &log)
			}
			if _, err := around.Exec("DELETE FROM ing_audit_log WHERE row_hash = '" + last.Hash + "'"); err != nil {
				t.Fatal(err)
			}
			step("level=ERROR", "tampered", last.Hash, "patra audit verify")
			step()
			if _, err := around.Exec("UPDATE ing_audit_log SET actor = 'john'"); err != nil {
				t.Fatal(err)
			}
			step("level=ERROR", "tampered")
		})
	}
}

// A process that serves looks at the log by itself.
func TestServeTellsTheHead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "patra.db")
	synctest.Test(t, func(t *testing.T) {
		s := openStation(t, file)
		s.serve()
		s.pass(auditLook)
		if _, _, err := s.app.store.PauseSource(t.Context(), ingest.Scope{Source: "crossref"}, ingest.Act{Actor: "jane", Reason: "why"}); err != nil {
			t.Fatal(err)
		}
		s.pass(auditLook)
		head, err := s.app.auditHead(t.Context())
		if err != nil || !strings.Contains(s.log.String(), head.Hash) {
			t.Errorf("%v: %s is not in %s", err, head.Hash, s.log.String())
		}
		s.close()
	})
}
