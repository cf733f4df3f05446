package e2e

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/need"
	"github.com/patra-ingest/patra/internal/upsim"
)

// ownServer is a MariaDB server that a test may kill.
type ownServer struct {
	t       *testing.T
	program string
	dir     string
	port    int
	more    []string // settings of the server
	cmd     *exec.Cmd
}

func tool(t *testing.T, name string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	need.Missing(t, "%s is not installed: no server to kill", name)
	return ""
}

func newServer(t *testing.T, more ...string) *ownServer {
	t.Helper()
	install := tool(t, "mariadb-install-db")
	dir, err := os.MkdirTemp("", "patra-db") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &ownServer{t: t, program: tool(t, "mariadbd"), dir: dir, port: free.Addr().(*net.TCPAddr).Port, more: more}
	free.Close()
	fresh := exec.Command(install, append(s.common(), "--auth-root-authentication-method=normal", "--skip-test-db")...)
	if out, err := fresh.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *ownServer) common() []string {
	return []string{"--no-defaults", "--user=" + userName(), "--datadir=" + filepath.Join(s.dir, "data")}
}

func (s *ownServer) socket() string { return filepath.Join(s.dir, "s") }

func userName() string {
	if os.Getuid() == 0 {
		return "root"
	}
	return os.Getenv("USER")
}

// start returns when the server answers, recovery included.
func (s *ownServer) start() {
	s.t.Helper()
	args := append(s.common(), "--socket="+s.socket(), "--tmpdir="+s.dir, "--bind-address=127.0.0.1",
		fmt.Sprint("--port=", s.port), "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=64M", "--skip-log-bin")
	s.cmd = exec.Command(s.program, append(args, s.more...)...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	db, err := sql.Open("mysql", fmt.Sprintf("root@tcp(127.0.0.1:%d)/", s.port))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	for {
		if _, err = db.ExecContext(s.t.Context(), "CREATE DATABASE IF NOT EXISTS patra CHARACTER SET utf8mb4"); err == nil {
			return
		}
		if s.t.Context().Err() != nil {
			s.t.Fatal(err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

func (s *ownServer) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// F12: the server is killed and started again while batches are committed, again and
// again. A harvest waits for it; one that gave up is started again. Each step has
// one effect.
func TestProofServerKilledDuringCommits(t *testing.T) {
	if os.Getenv("PATRA_PROOF") == "" {
		t.Skip("full-size run: make proof")
	}
	server := newServer(t)
	came := newArrivals()
	s := ofKind(t, "token").start(t, fmt.Sprintf("mysql://root@127.0.0.1:%d/patra", server.port), upsim.Options{OnEntry: came.entry})
	s.faults("slow@*:delay=10ms")
	kills := 0
	for done := false; !done; {
		cmd, output, ended := s.harvesting(s.args("--lease", "2s")...)
		for came.wait(2, ended) {
			server.kill()
			kills++
			server.start()
		}
		<-ended
		done = cmd.ProcessState.ExitCode() == 0
		t.Logf("after %d kills: %v %.200s", kills, cmd.ProcessState, output)
		s.sane()
	}
	if kills < 4 {
		t.Errorf("the server was killed only %d times", kills)
	}
	s.faultsOff()
	s.whole()
}
