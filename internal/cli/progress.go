package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/patra-ingest/patra/internal/core/view"
)

// bar shows how far a plan has come: a live line on a terminal, a plain line
// now and then elsewhere.
type bar struct {
	mu       sync.Mutex
	out      io.Writer
	label    string
	live     bool
	quiet    bool
	began    time.Time
	lastLine time.Time
	width    int // of the line that stands on the terminal
}

// plainEvery is how often progress is written where lines stay.
const plainEvery = 2 * time.Second

func newBar(e *env, label string) *bar {
	file, isFile := e.err.(*os.File)
	live := isFile && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
	return &bar{out: e.err, label: label, live: live, quiet: e.quiet, began: time.Now()}
}

func (b *bar) update(p view.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.quiet || p.Total == 0 || (!b.live && now.Sub(b.lastLine) < plainEvery) {
		return
	}
	b.lastLine = now
	line := progressLine(b.label, p, now.Sub(b.began))
	if !b.live {
		fmt.Fprintln(b.out, line)
		return
	}
	b.overwrite(line)
}

// stop leaves the last state on the screen.
func (b *bar) stop(p view.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.quiet || p.Total == 0 {
		return
	}
	line := progressLine(b.label, p, time.Since(b.began))
	if !b.live {
		fmt.Fprintln(b.out, line)
		return
	}
	b.overwrite(line)
	fmt.Fprintln(b.out)
}

// note writes a line above the bar.
func (b *bar) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.quiet {
		return
	}
	if b.live && b.width > 0 {
		fmt.Fprintf(b.out, "\r%s\r", strings.Repeat(" ", b.width))
		b.width = 0
	}
	fmt.Fprintf(b.out, format+"\n", args...)
}

func (b *bar) overwrite(line string) {
	pad := max(b.width-len(line), 0)
	fmt.Fprintf(b.out, "\r%s%s", line, strings.Repeat(" ", pad))
	b.width = len(line)
}

const barCells = 20

// progressLine is done/total, records per second and the time left.
func progressLine(label string, p view.Progress, elapsed time.Duration) string {
	share := float64(p.Done) / float64(max(p.Total, 1))
	full := int(share * barCells)
	rate := float64(p.Stats.Seen) / max(elapsed.Seconds(), 0.001)
	left := "ETA unknown"
	switch {
	case p.Done == p.Total:
		left = "done in " + elapsed.Round(100*time.Millisecond).String()
	case p.Done > 0:
		left = "ETA " + time.Duration(float64(elapsed)/share*(1-share)).Round(time.Second).String()
	}
	return fmt.Sprintf("%s [%s%s] %d/%d slices  %d records  %.0f records/s  %s",
		label, strings.Repeat("#", full), strings.Repeat("-", barCells-full), p.Done, p.Total, p.Stats.Seen, rate, left)
}
