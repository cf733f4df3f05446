package term

import (
	"github.com/spf13/cobra"
)

// NewGroup is a noun with its verbs. The flag library shows help and success for a
// verb it does not know; a mistyped verb in a script must fail.
func NewGroup(noun, about string, verbs ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: noun, Short: about, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(verbs...)
	return c
}
