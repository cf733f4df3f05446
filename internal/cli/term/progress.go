package term

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

// Bar shows how far a plan has come: a live line on a terminal, a plain line
// now and then elsewhere.
type Bar struct {
	Mu       sync.Mutex
	Out      io.Writer
	Label    string
	Live     bool
	Quiet    bool
	Began    time.Time
	lastLine time.Time
	width    int // of the line that stands on the terminal
	columns  func() int
	begun    *view.Progress // where this run started from
	earlier  map[int64]bool // plans that were begun before this run
}

// Resume says that a plan was begun before this run: what was done of it until the first look
// is not counted as done by this run. Of other plans all is, however late the first look
// comes.
func (b *Bar) Resume(plan int64) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.earlier == nil {
		b.earlier = map[int64]bool{}
	}
	b.earlier[plan] = true
}

// PlainEvery is how often progress is written where lines stay: nobody wants a
// hundred lines of it in a mail of cron. The last state is always written.
const PlainEvery = time.Minute

func NewBar(e *Env, label string) *Bar {
	file, isFile := e.Err.(*os.File)
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
	return &Bar{Out: e.Err, Label: label, Live: live, Quiet: e.Quiet, Began: now, lastLine: now, columns: columns}
}

func (b *Bar) Update(p view.Progress) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	now := time.Now()
	if b.Quiet || p.Total == 0 {
		return
	}
	if b.begun == nil || b.begun.PlanID != p.PlanID {
		b.begun, b.Began = &view.Progress{PlanID: p.PlanID}, now
		if b.earlier[p.PlanID] {
			b.begun = &p
		}
	}
	if !b.Due(now) {
		return
	}
	line := ProgressLine(b.Label, *b.begun, p, now.Sub(b.Began))
	if !b.Live {
		fmt.Fprintln(b.Out, line)
		return
	}
	b.Overwrite(line)
}

// Due reports whether a line is written now.
func (b *Bar) Due(now time.Time) bool {
	if !b.Live && now.Sub(b.lastLine) < PlainEvery {
		return false
	}
	b.lastLine = now
	return true
}

// Stop leaves the last state on the screen.
func (b *Bar) Stop(p view.Progress) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if !b.Quiet && p.Total == 0 && b.width > 0 { // interrupted: what is said next gets a line of its own
		fmt.Fprintln(b.Out)
		b.width = 0
	}
	if b.Quiet || p.Total == 0 {
		return
	}
	begun := view.Progress{PlanID: p.PlanID}
	if b.begun != nil && b.begun.PlanID == p.PlanID {
		begun = *b.begun
	}
	line := ProgressLine(b.Label, begun, p, time.Since(b.Began))
	if !b.Live {
		fmt.Fprintln(b.Out, line)
		return
	}
	b.Overwrite(line)
	fmt.Fprintln(b.Out)
}

// Note writes a line above the bar.
func (b *Bar) Note(format string, args ...any) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.Quiet {
		return
	}
	if b.Live && b.width > 0 {
		fmt.Fprintf(b.Out, "\r%s\r", strings.Repeat(" ", b.width))
		b.width = 0
	}
	fmt.Fprintf(b.Out, format+"\n", args...)
}

func (b *Bar) Overwrite(line string) {
	if columns := b.columns(); columns > 0 && len(line) >= columns {
		line = line[:columns-1] // a line that wraps cannot be overwritten
	}
	pad := max(b.width-len(line), 0)
	fmt.Fprintf(b.Out, "\r%s%s", line, strings.Repeat(" ", pad))
	b.width = len(line)
}

const BarCells = 20

// ProgressLine is done/total, what was read and stored, the speed and the time left.
// An item that is read twice, because a slice started over or windows overlap, is
// read twice and stored once. What was read, and the speed, count from where this run
// began, not from what an earlier one had done.
func ProgressLine(label string, begun, p view.Progress, elapsed time.Duration) string {
	share := float64(p.Done) / float64(max(p.Total, 1))
	full := int(share * BarCells)
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
		label, strings.Repeat("#", full), strings.Repeat("-", BarCells-full), p.Done, p.Total, read.Seen, read.Stored(), rate, left)
}

// ShortestWatch keeps a typing error from asking the database all the time.
const ShortestWatch = 100 * time.Millisecond
