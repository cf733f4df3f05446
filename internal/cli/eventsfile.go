package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/event"
)

// eventsFile is the flag of commands that publish events.
type eventsFile struct{ path string }

func (f *eventsFile) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.path, "events", "", "file that says who gets which events (default PATRA_EVENTS)")
}

// publishing is the command that publishes later what waits now.
func (f eventsFile) publishing() string {
	if f.path == "" {
		return "patra events publish" // PATRA_EVENTS names the file then, too
	}
	return "patra events publish --events " + f.path
}

// name is the file that is meant.
func (f eventsFile) name() string {
	if f.path != "" {
		return f.path
	}
	return envOr("PATRA_EVENTS", "")
}

// trusting is the command that agrees to what the file wants of this machine.
func (f eventsFile) trusting() string { return "patra events trust --events " + f.name() }

func (f eventsFile) read() (event.Declaration, error) {
	path := f.name()
	if path == "" {
		return event.Declaration{}, usagef("say who gets events: --events FILE or PATRA_EVENTS")
	}
	text, err := readSmallFile(path)
	if err != nil {
		return event.Declaration{}, usagef("--events: %v", err)
	}
	d, err := event.ReadDeclaration(text)
	if err != nil {
		return d, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}
