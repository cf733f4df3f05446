package redis

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/need"
)

// Env names the variable with the address of the shared server, in the form
// redis://127.0.0.1:6379/0 .
const Env = "PATRA_TEST_REDIS"

// URL is the address of the server of scripts/with-servers. Tests share it, so
// each must use a prefix of its own and must not harm it.
func URL(t testing.TB) string {
	t.Helper()
	address := os.Getenv(Env)
	if address == "" {
		need.Missing(t, "%s is not set: no Redis server to test against", Env)
	}
	return address
}

// Server is a Redis that belongs to one test.
type Server struct {
	t       testing.TB
	program string
	folder  string
	port    int
	more    []string // settings
	process *os.Process
	ended   chan struct{} // closed when process has
}

// Start starts an empty server that ends with the test, with settings as on the
// command line of redis-server.
func Start(t testing.TB, more ...string) *Server {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		need.Missing(t, "redis-server is not installed")
	}
	s := &Server{t: t, program: program, folder: t.TempDir(), more: more}
	t.Cleanup(s.Kill)
	for range attempts {
		if s.port, err = freePort(); err != nil {
			continue
		}
		if err = s.launchServer(); err == nil {
			return s
		}
	}
	t.Fatalf("start redis-server: %v", err)
	return nil
}

const (
	attempts = 5
	patience = 30 * time.Second
	pollEach = 5 * time.Millisecond
)

// URL is the address of this server, the same after a restart.
func (s *Server) URL() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", s.port) }

// Kill ends the server at once; all its state is gone.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Kill()
	<-s.ended
	s.process = nil
}

// Restart starts an empty server at the same address.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.launchServer(); err != nil {
		s.t.Fatalf("restart redis-server: %v", err)
	}
}

// Pause makes the server stop answering without closing a connection.
func (s *Server) Pause() { s.sendSignal(syscall.SIGSTOP) }

// Resume lets it go on, with all that was sent to it meanwhile.
func (s *Server) Resume() { s.sendSignal(syscall.SIGCONT) }

// Empty throws all keys away and keeps the server.
func (s *Server) Empty() {
	s.t.Helper()
	if answer, err := s.sendCommand("FLUSHALL"); err != nil || answer != "+OK" {
		s.t.Fatalf("empty redis: %q, %v", answer, err)
	}
}

func (s *Server) sendSignal(what os.Signal) {
	s.t.Helper()
	if err := s.process.Signal(what); err != nil {
		s.t.Fatalf("signal redis-server: %v", err)
	}
}

func (s *Server) launchServer() error {
	args := []string{"--bind", "127.0.0.1", "--port", fmt.Sprint(s.port), "--dir", s.folder,
		"--save", "", "--appendonly", "no", "--daemonize", "no"}
	c := exec.Command(s.program, append(args, s.more...)...)
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	s.process, s.ended = c.Process, ended
	go func() {
		_ = c.Wait()
		close(ended)
	}()
	for deadline := time.After(patience); ; {
		if answer, err := s.sendCommand("PING"); err == nil && answer == "+PONG" {
			return nil
		}
		select {
		case <-ended:
			s.process = nil
			return errors.New("it ended at once; is the port taken?")
		case <-deadline:
			s.Kill()
			return errors.New("it does not answer")
		case <-time.After(pollEach):
		}
	}
}

// sendCommand sends one word and reads one line.
func (s *Server) sendCommand(word string) (string, error) {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", s.port), time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(conn, "%s\r\n", word); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(line), err
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
