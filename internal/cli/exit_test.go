package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
)

func TestReport(t *testing.T) {
	command := &cobra.Command{Use: "patra"}
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, term.ExitOK, ""},
		{errors.New("broken"), term.ExitFailure, "patra: broken\n"},
		{term.Usagef("bad flag"), term.ExitUsage, "patra: bad flag\nSee `patra --help`.\n"},
		{term.Usagef("2 problems:\na\nb"), term.ExitUsage, "patra: 2 problems:\na\nb\n"},
		{errors.New("unknown command \"x\""), term.ExitUsage, "patra: unknown command \"x\"\nSee `patra --help`.\n"},
		{errors.New("said \x1b[31mred\x07"), term.ExitFailure, "patra: said \uFFFD[31mred\uFFFD\n"},
	} {
		var out bytes.Buffer
		if code := reportError(context.Background(), command, c.err, &out, false); code != c.code || out.String() != c.text {
			t.Errorf("%v: %d %q", c.err, code, out.String())
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	if code := reportError(ctx, command, ctx.Err(), &out, false); code != term.ExitInterrupted || !strings.Contains(out.String(), "interrupted") {
		t.Errorf("%d %q", code, out.String())
	}
}

// The flag library's complaints have no type; every one of them is a usage error.
func TestUsageErrors(t *testing.T) {
	d := emptyDesk(t)
	for _, args := range [][]string{
		{"nonsense"}, {"task", "list", "--nonsense"}, {"task", "list", "-x"}, {"task", "show"}, {"task", "show", "1", "2"}, {"source", "validate"},
		{"cursor", "list", "a", "b"}, {"task", "list", "extra"}, {"task", "list", "--limit"}, {"task", "list", "--limit", "many"},
		{"task", "list", "-o", "yaml"},
	} {
		if r := d.expect(term.ExitUsage, args...); r.out != "" || !strings.HasPrefix(r.err, "patra: ") {
			t.Errorf("%v: %q %q", args, r.out, r.err)
		}
	}
	d.noFile()
	d.holds(d.expect(term.ExitUsage, "data", "list").err, "Usage: patra data list SRC", "See `patra data list --help`.")
	var out bytes.Buffer
	if code := Main(context.Background(), []string{"task", "list", "--db", d.file}, &out, &out); code != term.ExitUsage || !strings.Contains(out.String(), "write sqlite:") {
		t.Errorf("a database without its kind: %d %s", code, out.String())
	}
}
