package cli

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// walk visits every command of the program.
func walk(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, child := range c.Commands() {
		walk(child, visit)
	}
}

func everyCommand(visit func(*cobra.Command)) { walk(newRoot(io.Discard, io.Discard), visit) }

func TestEveryCommandExplainsItself(t *testing.T) {
	everyCommand(func(c *cobra.Command) {
		path := c.CommandPath()
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: short description %q", path, c.Short)
		}
		if c.RunE != nil && !c.HasSubCommands() && c.Example == "" && c.Name() != "version" {
			t.Errorf("%s has no example", path)
		}
		for line := range strings.Lines(c.Long) {
			if n := len([]rune(line)); n > 86 {
				t.Errorf("%s: a line of the description has %d columns", path, n)
			}
		}
	})
}

// An example that the program itself would refuse is worse than none.
func TestExamplesParse(t *testing.T) {
	examples := 0
	everyCommand(func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			examples++
			if err := tryExample(c, strings.Fields(line)); err != "" {
				t.Errorf("example of %s: %s\n%s", c.CommandPath(), err, line)
			}
		}
	})
	if examples < 20 {
		t.Errorf("only %d examples were found", examples)
	}
}

func tryExample(owner *cobra.Command, words []string) string {
	if len(words) < 2 || words[0] != "patra" {
		return "does not start with patra and a command"
	}
	root := newRoot(io.Discard, io.Discard)
	found, rest, err := root.Find(words[1:])
	if err != nil {
		return err.Error()
	}
	if owner.HasParent() && !strings.HasPrefix(found.CommandPath(), owner.CommandPath()) {
		return "is about " + found.CommandPath()
	}
	if !found.Runnable() || found.HasSubCommands() && len(rest) == 0 {
		return "names no verb"
	}
	if err := found.ParseFlags(rest); err != nil {
		return err.Error()
	}
	if err := found.ValidateArgs(found.Flags().Args()); err != nil {
		return err.Error()
	}
	return ""
}

func TestHelpWorksEverywhere(t *testing.T) {
	var paths [][]string
	everyCommand(func(c *cobra.Command) { paths = append(paths, strings.Fields(c.CommandPath())[1:]) })
	for _, path := range paths {
		var out, err bytes.Buffer
		if code := Main(context.Background(), append(path, "--help"), &out, &err); code != term.ExitOK || !strings.Contains(out.String(), "Usage:") {
			t.Errorf("%v --help: exit code %d\n%s%s", path, code, out.String(), err.String())
		}
	}
}

func TestMistypedVerbFails(t *testing.T) {
	for _, noun := range []string{"source", "task", "run", "batch", "cursor", "coverage"} {
		var out, err bytes.Buffer
		if code := Main(context.Background(), []string{noun, "lst"}, &out, &err); code != term.ExitUsage || !strings.Contains(err.String(), `unknown command "lst"`) {
			t.Errorf("%s lst: exit code %d: %s", noun, code, err.String())
		}
		out.Reset()
		if code := Main(context.Background(), []string{noun}, &out, &err); code != term.ExitOK || !strings.Contains(out.String(), "show") {
			t.Errorf("%s: exit code %d: %s", noun, code, out.String())
		}
	}
}

// The root's help lists the codes that exit.go uses.
func TestHelpListsExitCodes(t *testing.T) {
	help := newRoot(io.Discard, io.Discard).Long
	listed := strings.Fields(help[strings.Index(help, "Exit codes:"):])
	for _, code := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "130"} {
		if !slices.Contains(listed, code) {
			t.Errorf("%s is not listed", code)
		}
	}
}
