package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// startRotating serves a source whose refresh token is good for one use, and gives the file
// that holds it.
func startRotating(t *testing.T, database string, perDay int, change func(*upsim.Auth)) (*subject, *door, string) {
	t.Helper()
	folder := t.TempDir()
	file, config := filepath.Join(folder, "refresh"), filepath.Join(folder, "patra.yaml")
	f := simulated.RotatingForm(file)
	if change != nil {
		change(&f.Options.Forms.Auth)
	}
	for name, text := range map[string]string{file: f.Options.Forms.Auth.RefreshToken + "\n", config: fmt.Sprintf("trust: {folders: [%q]}\n", folder)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATRA_CONFIG", config)
	for name, value := range f.Env {
		t.Setenv(name, value)
	}
	s := &subject{world: newWorld(t, database, upsim.Config{Seed: 67, PerDay: perDay, Flat: true}, upsim.Options{}), source: "form-oauth-rotating", lag: 10 * time.Minute}
	front := &door{}
	front.serves(t, s, f)
	return s, front, file
}

// A process is killed at every step of replacing a refresh token that is good for one use: the
// next one goes on with the newest. An answer that was not written yet is lost with the process;
// where the upstream takes the old token once more, even that costs nothing.
func TestARotatingTokenSurvivesAKill(t *testing.T) {
	for name, c := range map[string]struct {
		database func(*testing.T) string
		point    crash.Point
		grace    bool
	}{
		"sqlite, spent and taken once more": {sqliteFile, crash.Exchanged, true},
		"sqlite, beside":                    {sqliteFile, crash.Beside, false},
		"sqlite, in its place":              {sqliteFile, crash.Rotated, false},
		"mariadb, beside":                   {mariaDB, crash.Beside, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, front, file := startRotating(t, c.database(t), 24, func(a *upsim.Auth) { a.Grace = c.grace })
			for passage := range 3 {
				s.dies(c.point, passage+1)
				s.sane()
			}
			s.finish()
			s.whole()
			if server := front.server.Load(); server.RefreshRefused() != 0 || server.TokensIssued() < 9 {
				t.Errorf("%d refresh tokens were refused, %d tokens given out", server.RefreshRefused(), server.TokensIssued())
			}
			left, _ := filepath.Glob(file + "*")
			if len(left) != 1 {
				t.Errorf("there is %v", left)
			}
		})
	}
}

// Where the upstream forgives nothing, the message of the next process says what happened and
// what to do; with another token all is read.
func TestARotatingTokenThatIsLostIsTold(t *testing.T) {
	s, front, file := startRotating(t, sqliteFile(t), 24, nil)
	s.dies(crash.Exchanged, 2)
	code, _, text := s.patra(s.args()...)
	if code == 0 || !strings.Contains(text, "put it where file:"+file+" leads") || !strings.Contains(text, "before the next one could be written") {
		t.Errorf("exit %d: %s", code, text)
	}
	refused := front.server.Load().RefreshRefused()
	f := simulated.RotatingForm(file)
	f.Options.Forms.Auth.RefreshToken = "form-refresh-by-hand"
	front.opens(t, s, f)
	if err := os.WriteFile(file, []byte("form-refresh-by-hand\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.finish()
	s.allOnce()
	if refused == 0 || front.server.Load().RefreshRefused() != 0 {
		t.Errorf("%d and %d refused", refused, front.server.Load().RefreshRefused())
	}
}

// Two processes with many workers never spend one token twice.
func TestTwoProcessesSpendARotatingTokenInTurn(t *testing.T) {
	for name, database := range map[string]func(*testing.T) string{"sqlite": sqliteFile, "mariadb": mariaDB} {
		t.Run(name, func(t *testing.T) {
			s, front, _ := startRotating(t, database(t), 150, func(a *upsim.Auth) { a.TokenUses = 8 })
			beside, told := s.child("serve", "--roles", "executor", "--workers", "3")
			code, _, text := s.patra(s.args("--workers", "3")...)
			_ = beside.Process.Signal(os.Interrupt)
			_ = beside.Wait()
			if code != 0 {
				t.Fatalf("exit %d: %s\n%s", code, text, told)
			}
			s.whole()
			if server := front.server.Load(); server.RefreshRefused() != 0 || server.TokensIssued() < 9 {
				t.Errorf("%d refresh tokens were refused, %d tokens given out", server.RefreshRefused(), server.TokensIssued())
			}
		})
	}
}

func mariaDB(t *testing.T) string { return mariadb.DSN(t) }
