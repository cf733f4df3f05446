package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/visible"
)

// onTerminal runs a command whose output goes to a terminal, and gives what is seen.
func (h *hostile) onTerminal(args ...string) string {
	h.Helper()
	opened := openTerminal(h.T, 4000)
	screen, shell := opened.screen, opened.keyboard
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(screen) // ends with an error once the other end is closed
		seen <- string(text)
	}()
	code := Main(context.Background(), append(args, "--db", h.database), shell, io.Discard)
	shell.Close()
	if text := <-seen; code == term.ExitOK {
		return strings.NewReplacer("\r\r\n", "\n", "\r\n", "\n").Replace(text) // a terminal adds one to every line end
	} else {
		h.Fatalf("patra %s: exit code %d\n%q", strings.Join(args, " "), code, text)
	}
	return ""
}

// What is kept of an upstream does not steer the terminal it is shown on, nor hide
// there; in a pipe it is byte for byte what is kept.
func TestTrust08TerminalIsNotSteered(t *testing.T) {
	t.Setenv("NO_COLOR", "1") // colours are ours, and steer the terminal
	onHostile(t, onSQLite(t), func(h *hostile) {
		h.expect(term.ExitOK, h.harvest("list")...)
		for _, args := range [][]string{
			{"events", "tail", "-o", "json"}, {"events", "tail"}, {"data", "export", "odd/list", "--out", "-", "--with-payload"}, {"data", "export", "odd/list", "--out", "-", "--format", "csv"},
			{"batch", "raw", "1"}, {"data", "list", "odd/list"}, {"data", "get", "odd/list", "one\u202e\u200b"}, {"source", "export", "odd"}, {"data", "list", "odd/list", "-o", "json"},
		} {
			text := h.onTerminal(args...)
			if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && visible.IsHidden(r) }) {
				t.Errorf("%v: %q", args, text)
			}
		}
		seen := h.onTerminal("events", "tail", "-o", "json")
		if !strings.Contains(seen, `\u202etitle\u200bd`) || !strings.Contains(seen, `b\u009b31mc`) {
			t.Errorf("%s", seen)
		}
		if piped := h.expect(term.ExitOK, "data", "export", "odd/list", "--out", "-").out; !strings.Contains(piped, "\u202etitle\u200bd") {
			t.Errorf("a pipe gets other bytes than what is kept: %q", piped)
		}
	})
}
