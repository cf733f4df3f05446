package outboxtest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// processEnv makes a test binary behave as a receiver; its value is the receiver's
// own business, such as a folder and a port.
const processEnv = "PATRA_OUTBOXTEST_RECEIVER"

// Main runs tests, or a receiver in a process of its own: serve gets what Process
// was given, and calls ready with its address when it can be reached. It never
// returns. Use it as TestMain.
func Main(m *testing.M, serve func(told string, ready func(address string))) {
	if told, is := os.LookupEnv(processEnv); is {
		serve(told, func(address string) { _, _ = os.Stdout.WriteString(address + "\n") })
		return
	}
	os.Exit(m.Run())
}

// Process is a receiver in a process of its own, which dies by kill -9.
type Process struct {
	Address string
	cmd     *exec.Cmd
}

// Start starts this test binary as a receiver and waits until it can be reached.
func (p *Process) Start(t *testing.T, told string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(self)
	p.cmd.Env = append(os.Environ(), processEnv+"="+told)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the receiver did not start: %v", err)
	}
	p.Address = strings.TrimSpace(line)
}

// Kill kills it without a warning; again does nothing.
func (p *Process) Kill(*testing.T) {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// IsAlive tells whether it was started and not killed.
func (p *Process) IsAlive() bool { return p.cmd != nil }
