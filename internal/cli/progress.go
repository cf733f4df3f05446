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
	columns  func() int
	begun    *view.Progress // where this run started from
}

// plainEvery is how often progress is written where lines stay: nobody wants a
// hundred lines of it in a mail of cron. The last state is always written.
const plainEvery = time.Minute

func newBar(e *env, label string) *bar {
	file, isFile := e.err.(*os.File)
	live := isFile && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb"
	columns := func() int { return 0 }
	if live {
		columns = func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 0
			}
			return width
		}
	}
	now := time.Now()
	return &bar{out: e.err, label: label, live: live, quiet: e.quiet, began: now, lastLine: now, columns: columns}
}

func (b *bar) update(p view.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.quiet || p.Total == 0 {
		return
	}
	if b.begun == nil || b.begun.PlanID != p.PlanID {
		b.begun, b.began = &p, now
	}
	if !b.due(now) {
		return
	}
	line := progressLine(b.label, *b.begun, p, now.Sub(b.began))
	if !b.live {
		fmt.Fprintln(b.out, line)
		return
	}
	b.overwrite(line)
}

// due reports whether a line is written now.
func (b *bar) due(now time.Time) bool {
	if !b.live && now.Sub(b.lastLine) < plainEvery {
		return false
	}
	b.lastLine = now
	return true
}

// stop leaves the last state on the screen.
func (b *bar) stop(p view.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.quiet && p.Total == 0 && b.width > 0 { // interrupted: what is said next gets a line of its own
		fmt.Fprintln(b.out)
		b.width = 0
	}
	if b.quiet || p.Total == 0 {
		return
	}
	begun := view.Progress{PlanID: p.PlanID}
	if b.begun != nil && b.begun.PlanID == p.PlanID {
		begun = *b.begun
	}
	line := progressLine(b.label, begun, p, time.Since(b.began))
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
	if columns := b.columns(); columns > 0 && len(line) >= columns {
		line = line[:columns-1] // a line that wraps cannot be overwritten
	}
	pad := max(b.width-len(line), 0)
	fmt.Fprintf(b.out, "\r%s%s", line, strings.Repeat(" ", pad))
	b.width = len(line)
}

const barCells = 20

// progressLine is done/total, what was read and stored, the speed and the time left.
// An item that is read twice, because a slice started over or windows overlap, is
// read twice and stored once. What was read, and the speed, count from where this run
// began, not from what an earlier one had done.
func progressLine(label string, begun, p view.Progress, elapsed time.Duration) string {
	share := float64(p.Done) / float64(max(p.Total, 1))
	full := int(share * barCells)
	read := p.Stats.BatchStats.Since(begun.Stats.BatchStats)
	rate := float64(read.Seen) / max(elapsed.Seconds(), 0.001)
	left := "ETA unknown"
	switch done := p.Done - begun.Done; {
	case p.Done == p.Total:
		left = "done in " + elapsed.Round(100*time.Millisecond).String()
	case done > 0:
		left = "ETA " + (elapsed / time.Duration(done) * time.Duration(p.Total-p.Done)).Round(time.Second).String()
	}
	return fmt.Sprintf("%s [%s%s] %d/%d slices  %d read, %d stored  %.0f/s  %s",
		label, strings.Repeat("#", full), strings.Repeat("-", barCells-full), p.Done, p.Total, read.Seen, read.Stored(), rate, left)
}
