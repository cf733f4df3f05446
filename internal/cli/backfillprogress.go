package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/daemon"
)

// campaignBar shows how far a campaign has come, by its range.
type campaignBar struct {
	*bar
	first *daemon.CampaignPulse // where this run started from
	last  daemon.CampaignPulse
}

func newCampaignBar(e *env, name string) *campaignBar { return &campaignBar{bar: newBar(e, name)} }

func (b *campaignBar) update(p daemon.CampaignPulse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.last = p; b.first == nil {
		b.first, b.began = &p, now
	}
	if b.quiet || !b.due(now) {
		return
	}
	b.write(campaignLine(b.label, *b.first, p, now.Sub(b.began)))
}

func (b *campaignBar) write(line string) {
	if !b.live {
		fmt.Fprintln(b.out, line)
		return
	}
	b.overwrite(line)
}

// stop leaves the last state on the screen.
func (b *campaignBar) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.quiet || b.first == nil {
		return
	}
	b.write(campaignLine(b.label, *b.first, b.last, time.Since(b.began)))
	if b.live {
		fmt.Fprintln(b.out)
	}
}

// campaignLine is the share of the range, what was read and stored, the speed and the
// time left, by the pace of this run.
func campaignLine(name string, first, p daemon.CampaignPulse, elapsed time.Duration) string {
	full := min(int(p.Percent/100*barCells), barCells)
	rate := float64(p.Read) / max(elapsed.Seconds(), 0.001)
	left := "ETA unknown"
	switch done := p.Done - first.Done; {
	case p.Done >= p.Total:
		left = "done in " + elapsed.Round(100*time.Millisecond).String()
	case done > 0:
		left = "ETA " + time.Duration(float64(elapsed)/float64(done)*float64(p.Total-p.Done)).Round(time.Second).String()
	}
	line := fmt.Sprintf("%s [%s%s] %.1f %%  %d read, %d stored  %.0f/s  %s", name, strings.Repeat("#", full), strings.Repeat("-", barCells-full), p.Percent, p.Read, p.Stored, rate, left)
	if n := len(p.Failed); n > 0 {
		line += fmt.Sprintf("  %s failed", counted(n, "window"))
	}
	return line
}
