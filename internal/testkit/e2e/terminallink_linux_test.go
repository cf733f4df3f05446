package e2e

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var loginLink = regexp.MustCompile(`(http://127\.0\.0\.1:\d+/login\?code=([A-Za-z0-9_-]+))\s`)

// TestR2LoginLinkOfARealTerminal serves with a terminal at its standard error: the link is shown there, and
// neither in a line of the log nor at the standard output; it lets in, and no token is written.
func TestR2LoginLinkOfARealTerminal(t *testing.T) {
	x, file := newTerminal(t), filepath.Join(t.TempDir(), "patra.db")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(self, "serve", "--roles", "api", "--listen", "127.0.0.1:0", "--log-format", "text", "--log-level", "debug", "--db", "sqlite:"+file)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stdout, cmd.Stderr = &out, x.program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	if err := x.program.Close(); err != nil { // the child has its own
		t.Fatal(err)
	}
	var seen bytes.Buffer
	var link []string
	for part := make([]byte, 4096); ; {
		n, err := x.person.Read(part)
		seen.Write(part[:n])
		if link == nil {
			if link = loginLink.FindStringSubmatch(seen.String()); link != nil {
				got, err := http.Get(link[1])
				if err != nil {
					t.Fatal(err)
				}
				got.Body.Close()
				if got.StatusCode != http.StatusOK {
					t.Errorf("the link answers %s", got.Status)
				}
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
		}
		if link == nil && strings.Contains(seen.String(), ".token") {
			t.Fatalf("a token was written instead of a link:\n%s", seen.String())
		}
		if err != nil { // nobody has the other end open any more
			break
		}
	}
	_ = cmd.Wait()
	if link == nil {
		t.Fatalf("the terminal shows no link:\n%s", seen.String())
	}
	told := 0
	for line := range strings.Lines(seen.String()) {
		if !strings.Contains(line, link[2]) {
			continue
		}
		if told++; strings.Contains(line, "level=") || strings.Contains(line, "msg=") {
			t.Errorf("the log has the code: %s", line)
		}
	}
	if told != 1 || strings.Contains(out.String(), link[2]) {
		t.Errorf("the code is told %d times; standard output: %s", told, out.String())
	}
	if _, err := os.Stat(file + ".token"); err == nil {
		t.Error("a token was written too")
	}
}
