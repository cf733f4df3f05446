package daemon

import (
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/link"
)

// warnOfLinks names the connections that leave the machine without encryption,
// because somebody has written tls=off (D§5.30). It comes before the first of
// them is made.
func (c Config) warnOfLinks() {
	warn := c.Warn
	if warn == nil {
		warn = func(text string) { c.Log.Warn(text) }
	}
	if host := link.Exposed(c.Database); host != "" {
		warn(link.Warning("database", host))
	}
	if host := link.Exposed(c.Gate); host != "" {
		warn(link.Warning("shared gate", host))
	}
	for _, text := range EventWarnings(c.Events) {
		warn(text)
	}
}

// EventWarnings names the receivers of events to which they go in plain text.
func EventWarnings(declared event.Declaration) (out []string) {
	for _, d := range declared.Destinations {
		if d.NATS == nil {
			continue
		}
		if host := d.NATS.Exposed(); host != "" {
			out = append(out, link.Warning("destination "+d.Name, host))
		}
	}
	return out
}
