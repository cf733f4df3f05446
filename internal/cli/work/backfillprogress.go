package work

import (
	"fmt"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// campaignBar shows how far a campaign has come, by its range.
type campaignBar struct {
	*term.Bar
	first *daemon.CampaignPulse // where this run started from
	last  daemon.CampaignPulse
}

func newCampaignBar(e *term.Env, name string) *campaignBar {
	return &campaignBar{Bar: term.NewBar(e, name)}
}

func (b *campaignBar) update(p daemon.CampaignPulse) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	now := time.Now()
	if b.last = p; b.first == nil {
		b.first, b.Began = &p, now
	}
	if b.Quiet || !b.Due(now) {
		return
	}
	b.write(campaignLine(b.Label, *b.first, p, now.Sub(b.Began)))
}

func (b *campaignBar) write(line string) {
	if !b.Live {
		fmt.Fprintln(b.Out, line)
		return
	}
	b.Overwrite(line)
}

// stop leaves the last state on the screen.
func (b *campaignBar) stop() {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.Quiet || b.first == nil {
		return
	}
	b.write(campaignLine(b.Label, *b.first, b.last, time.Since(b.Began)))
	if b.Live {
		fmt.Fprintln(b.Out)
	}
}

// campaignLine is the share of the range, what was read and stored, the speed and the
// time left, by the pace of this run.
func campaignLine(name string, first, p daemon.CampaignPulse, elapsed time.Duration) string {
	full := min(int(p.Percent/100*term.BarCells), term.BarCells)
	rate := float64(p.Read) / max(elapsed.Seconds(), 0.001)
	left := "ETA unknown"
	switch done := p.Done - first.Done; {
	case p.Done >= p.Total:
		left = "done in " + elapsed.Round(100*time.Millisecond).String()
	case done > 0:
		left = "ETA " + time.Duration(float64(elapsed)/float64(done)*float64(p.Total-p.Done)).Round(time.Second).String()
	}
	line := fmt.Sprintf("%s [%s%s] %.1f %%  %d read, %d stored  %.0f/s  %s", name, strings.Repeat("#", full), strings.Repeat("-", term.BarCells-full), p.Percent, p.Read, p.Stored, rate, left)
	if n := len(p.Failed); n > 0 {
		line += fmt.Sprintf("  %s failed", wording.Count(n, "window"))
	}
	return line
}
