package term

import (
	"bytes"
	"log/slog"
	"os"
	"sync"
	"testing"
)

// Hints and the log meet on one stream: no line is lost, and none is torn.
func TestHintsAndLogShareAWriter(t *testing.T) {
	var out bytes.Buffer
	e := &Env{Err: Share(&out), Verbose: true}
	log := e.Logger()
	const writers, lines = 4, 200
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			for range lines {
				if i%2 == 0 {
					e.Hint("a hint of some length")
				} else {
					log.Log(t.Context(), slog.LevelInfo, "a line of some length")
				}
			}
		})
	}
	group.Wait()
	got := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(got) != writers*lines {
		t.Errorf("%d lines, want %d", len(got), writers*lines)
	}
	for _, line := range got {
		if !bytes.HasSuffix(line, []byte("of some length")) && !bytes.HasSuffix(line, []byte(`of some length"`)) {
			t.Fatalf("torn: %q", line)
		}
	}
	if Share(os.Stderr) != os.Stderr {
		t.Error("a file must stay itself, or nobody knows that it is a terminal")
	}
}
