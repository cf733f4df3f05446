package events

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/event"
)

// File is the flag of commands that publish events.
type File struct{ Path string }

func (f *File) Flags(c *cobra.Command) {
	c.Flags().StringVar(&f.Path, "events", "", "file that says who gets which events (default PATRA_EVENTS)")
}

// PublishCommand is the command that publishes later what waits now.
func (f File) PublishCommand() string {
	if f.Path == "" {
		return "patra events publish" // PATRA_EVENTS names the file then, too
	}
	return "patra events publish --events " + f.Path
}

// Name is the file that is meant.
func (f File) Name() string {
	if f.Path != "" {
		return f.Path
	}
	return term.EnvOr("PATRA_EVENTS", "")
}

// TrustCommand is the command that agrees to what the file wants of this machine.
func (f File) TrustCommand() string { return "patra events trust --events " + f.Name() }

func (f File) Read() (event.Declaration, error) {
	path := f.Name()
	if path == "" {
		return event.Declaration{}, term.Usagef("say who gets events: --events FILE or PATRA_EVENTS")
	}
	text, err := term.ReadSmallFile(path)
	if err != nil {
		return event.Declaration{}, term.Usagef("--events: %v", err)
	}
	d, err := event.ReadDeclaration(text)
	if err != nil {
		return d, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}
