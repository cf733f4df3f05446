package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// terminal is one as a person sits at.
type terminal struct{ person, program *os.File }

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { person.Close() })
	control := func(request uintptr, value *int32) {
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, person.Fd(), request, uintptr(unsafe.Pointer(value))); failed != 0 {
			t.Fatal(failed)
		}
	}
	var unlock, number int32
	control(syscall.TIOCSPTLCK, &unlock)
	control(syscall.TIOCGPTN, &number)
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &terminal{person, program}
}

// ask runs the program at the terminal, waits for a question and answers it.
func (x *terminal) ask(t *testing.T, question, answer string, args ...string) (code int, seen string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = x.program, x.program, x.program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := x.program.Close(); err != nil { // the child has its own
		t.Fatal(err)
	}
	var all bytes.Buffer
	answered := false
	for part := make([]byte, 4096); ; {
		n, err := x.person.Read(part)
		all.Write(part[:n])
		if !answered && strings.Contains(all.String(), question) {
			answered = true
			if _, err := x.person.WriteString(answer + "\n"); err != nil {
				t.Fatal(err)
			}
		}
		if err != nil { // nobody has the other end open any more
			break
		}
	}
	_ = cmd.Wait()
	if !answered {
		t.Errorf("nobody asked %q:\n%s", question, all.String())
	}
	return cmd.ProcessState.ExitCode(), all.String()
}

// On a terminal the question is put at once, and the answer counts.
func TestTrust01ATerminalIsAsked(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		k := newKeyed(t, database)
		const auth = 4
		args := append([]string{"source", "test", keyedSource}, "--db", database)
		for _, answer := range []string{"n", ""} {
			if code, seen := newTerminal(t).ask(t, "Agree to this from now on? [y/N]", answer, args...); code != auth || !strings.Contains(seen, "send env:FORM_SECRET to") {
				t.Errorf("%q: exit %d:\n%s", answer, code, seen)
			}
		}
		if k.server.Requests() != 0 {
			t.Errorf("%d requests without consent", k.server.Requests())
		}
		if code, seen := newTerminal(t).ask(t, "Agree to this from now on? [y/N]", "y", args...); code != 0 || k.server.Requests() == 0 {
			t.Errorf("exit %d, %d requests:\n%s", code, k.server.Requests(), seen)
		}
		k.must("source", "test", keyedSource) // and is not asked again
	})
}
