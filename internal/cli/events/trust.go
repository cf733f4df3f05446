package events

import (
	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newEventsTrust(e *term.Env) *cobra.Command {
	var t consent.ConsentFlags
	var told File
	c := &cobra.Command{
		Use:   "trust",
		Short: "Agree that the file of events uses secrets of this machine",
		Long: `Show which secrets of this machine the --events file uses for which host, and agree
to that. It works like patra source trust: consent is kept in the same place, and
patra source trust lists it.`,
		Example: `  patra events trust --events events.yaml
  patra events trust --events events.yaml --yes --reason ours`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			declared, err := told.Read()
			if err != nil {
				return err
			}
			return consent.Trust(cmd.Context(), e, t, daemon.EventUses(declared))
		},
	}
	t.Add(c)
	told.Flags(c)
	return c
}
