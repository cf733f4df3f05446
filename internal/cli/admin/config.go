package admin

import (
	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/config"
)

func NewConfig(e *term.Env) *cobra.Command {
	return term.NewGroup("config", "Look at what patra.yaml may say, the file of an installation", newConfigSchema(e))
}

func newConfigSchema(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of patra.yaml, for editors",
		Long: `Print the JSON Schema of patra.yaml. Editors complete and check the file with it,
for example after this first line in it:

  # yaml-language-server: $schema=patra.schema.json

The schema sees one key at a time. Every command that reads the file sees the whole,
and names the line of what is wrong.`,
		Example: `  patra config schema`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := e.Out.Write(config.Schema())
			return err
		},
	}
}
