package term

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ParseTime reads RFC 3339, a date, or a stretch before now such as -7d.
func ParseTime(flag, text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if stretch, ok := strings.CutPrefix(text, "-"); ok {
		d, err := ParseDuration(stretch)
		if err != nil {
			return nil, Usagef("--%s %q: %v", flag, text, err)
		}
		at := window.Instant(now.Add(-d))
		return &at, nil
	}
	at, err := window.ParseInstant(text)
	if err != nil {
		return nil, Usagef("--%s: %v (or a time before now, such as -7d)", flag, err)
	}
	return &at, nil
}

func ParseDuration(text string) (time.Duration, error) {
	d, err := duration.Parse(text)
	return d.Std(), err
}

// WindowFlags are the flags that choose the window of one request.
type WindowFlags struct{ both, from, to string }

func (p *WindowFlags) Flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.both, "window", "", "window A..B, without B: RFC 3339, dates or -7d (default: the newest whole window.size)")
	f.StringVar(&p.from, "from", "", "start of the window, included, in place of --window")
	f.StringVar(&p.to, "to", "", "end of the window, not included, in place of --window")
}

func (p WindowFlags) Given() bool { return p.both != "" || p.from != "" || p.to != "" }

// Choose reads the flags; what they leave open comes from the usual window.
func (p WindowFlags) Choose(usual window.Window, now time.Time) (window.Window, error) {
	from, to, err := p.splitEnds()
	if err != nil {
		return window.Window{}, err
	}
	fromName, toName := "from", "to"
	if p.both != "" {
		fromName, toName = "window", "window"
	}
	begin, err := ParseTime(fromName, from, now)
	if err != nil {
		return window.Window{}, err
	}
	end, err := ParseTime(toName, to, now)
	if err != nil {
		return window.Window{}, err
	}
	w := usual
	if end != nil {
		w = window.Window{From: end.Add(-usual.Duration()), To: *end}
	}
	if begin != nil {
		w.From = *begin
	}
	if w.Empty() {
		return w, Usagef("window %s is empty: its start must lie before its end", w)
	}
	return w, nil
}

func (p WindowFlags) splitEnds() (from, to string, err error) {
	if p.both == "" {
		return p.from, p.to, nil
	}
	if p.from != "" || p.to != "" {
		return "", "", Usagef("--window says both ends: leave --from and --to out")
	}
	from, to, found := strings.Cut(p.both, "..")
	if !found || from == "" || to == "" {
		return "", "", Usagef("--window %q: write both ends with two dots between, such as 2025-03-01..2025-03-02 or -2d..-1d", p.both)
	}
	return from, to, nil
}
