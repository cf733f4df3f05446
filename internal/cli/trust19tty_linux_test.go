package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/testkit/need"
)

// terminal is a real one of a given width, and what is written on it.
type terminal struct {
	screen, keyboard *os.File // ours, and the program's
}

func ioctl(f *os.File, request uintptr, value unsafe.Pointer) error {
	if _, _, code := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(value)); code != 0 {
		return code
	}
	return nil
}

func openTerminal(t *testing.T, columns uint16) *terminal {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		need.Missing(t, "no terminal to be had here: %v", err)
	}
	var number, unlock int32
	size := struct{ rows, columns, x, y uint16 }{24, columns, 0, 0}
	for _, err := range []error{
		ioctl(screen, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)), ioctl(screen, syscall.TIOCGPTN, unsafe.Pointer(&number)), ioctl(screen, syscall.TIOCSWINSZ, unsafe.Pointer(&size)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	keyboard, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		need.Missing(t, "no terminal to be had here: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	return &terminal{screen, keyboard}
}

// show runs a command on the terminal and gives what stands on it.
func (d *desk) show(term *terminal, args ...string) (int, string) {
	d.Helper()
	done := make(chan string)
	go func() {
		text, _ := io.ReadAll(term.screen) // ends with an error when the program's side is closed
		done <- strings.ReplaceAll(string(text), "\r\n", "\n")
	}()
	code := Main(context.Background(), append(args, "--db", "sqlite:"+d.file), term.keyboard, term.keyboard)
	term.keyboard.Close()
	return code, <-done
}

func TestTrust19OnATerminal(t *testing.T) {
	d := harvested(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("COLUMNS", "")
	t.Setenv("NO_COLOR", "")
	const red = "\x1b[31mFAILED\x1b[0m"
	_, coloured := d.show(openTerminal(t, 80), "task", "list")
	if !strings.Contains(coloured, red) {
		t.Errorf("no colours on a terminal: %q", coloured)
	}
	for line := range strings.Lines(strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(coloured)) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	for name, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, plain := d.show(openTerminal(t, 80), "task", "list"); strings.Contains(plain, "\x1b") || !strings.Contains(plain, "FAILED") {
				t.Errorf("%q", plain)
			}
		})
	}
	if r := d.expect(term.ExitOK, "task", "list"); strings.Contains(r.out, "\x1b") {
		t.Errorf("colours off a terminal: %q", r.out)
	}
}

// The last frame of a bar is the end, also where the last look came before it.
func TestTrust19LastFrameIsDrawn(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.expect(term.ExitOK, "source", "apply", file)
	t.Setenv("TERM", "xterm")
	code, text := d.show(openTerminal(t, 100), "harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-04", "--workers", "1")
	frames := strings.Split(text, "\r")
	last := ""
	for _, frame := range frames {
		if strings.Contains(frame, " slices  ") {
			last = frame
		}
	}
	if code != term.ExitOK || !strings.Contains(last, "[####################] 3/3 slices  36 read, 36 stored") || !strings.Contains(last, "done in") {
		t.Errorf("exit code %d, the last frame is %q of\n%q", code, last, text)
	}
	code, text = d.show(openTerminal(t, 100), "backfill", "crossref", "--from", "2025-02-26", "--to", "2025-03-01", "--workers", "1")
	if !strings.Contains(text, "[####################] 100.0 %") || !strings.Contains(text, "done in") {
		t.Errorf("exit code %d, no last frame of a campaign in\n%q", code, text)
	}
}
