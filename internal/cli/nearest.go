package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/spelling"
)

// nearestCommand says which command was meant by one that does not exist: the nearest
// name beside it, or the only place where a verb of that name is.
func nearestCommand(command *cobra.Command, complaint string) string {
	var word string
	if n, err := fmt.Sscanf(complaint, "unknown command %q", &word); n != 1 || err != nil {
		return ""
	}
	var names []string
	for _, c := range command.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if near := spelling.Nearest(word, names); near != "" {
		return fmt.Sprintf(": did you mean `%s %s`?", command.CommandPath(), near)
	}
	if found := commandsNamed(command.Root(), word); len(found) == 1 {
		return fmt.Sprintf(": did you mean `%s`?", found[0])
	}
	return ""
}

// commandsNamed finds commands of a name anywhere below another.
func commandsNamed(c *cobra.Command, name string) (out []string) {
	for _, child := range c.Commands() {
		if child.Name() == name && child.IsAvailableCommand() {
			out = append(out, child.CommandPath())
		}
		out = append(out, commandsNamed(child, name)...)
	}
	return out
}
