package work

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/daemon"
)

// rawKeeping are the flags of commands that keep the bodies of answers.
type rawKeeping struct {
	off, whole     bool
	dir, keep, max string
}

func (r *rawKeeping) flags(c *cobra.Command) {
	term.RawDirFlag(c, &r.dir)
	c.Flags().BoolVar(&r.off, "no-raw", false, "do not keep the bodies of answers")
	c.Flags().BoolVar(&r.whole, "raw-whole", false, "write every answer to a file, also where the database has its items: a second copy, from which \"patra db heal\" restores")
	c.MarkFlagsMutuallyExclusive("no-raw", "raw-whole")
	c.Flags().StringVar(&r.keep, "raw-keep", fmt.Sprintf("%dd", term.RawDays), "how long bodies of answers are kept")
	c.Flags().StringVar(&r.max, "raw-max", term.SizeText(daemon.RawMaxBytes), "disk space for files of bodies of answers; the oldest are removed first")
}

// HintNewAndRaw says once that the database is new, and that bodies are not kept.
func HintNewAndRaw(e *term.Env, app *daemon.App) {
	e.HintNewDatabase(app)
	if text := app.Bodies.Notice(); text != "" {
		e.Hint("%s", text)
	}
}

func (r rawKeeping) config() (daemon.RawConfig, error) {
	keep, wrongKeep := term.ParseDuration(r.keep)
	most, wrongMax := term.ParseSize(r.max)
	switch {
	case wrongKeep != nil:
		return daemon.RawConfig{}, term.Usagef("--raw-keep: %v", wrongKeep)
	case wrongMax != nil:
		return daemon.RawConfig{}, term.Usagef("--raw-max: %v", wrongMax)
	case keep == 0 || most == 0:
		return daemon.RawConfig{}, term.Usagef("--raw-keep and --raw-max must be more than nothing; to keep no bodies, say --no-raw")
	}
	return daemon.RawConfig{Off: r.off, Dir: term.RawDir(r.dir), KeepFor: keep, MaxBytes: most, Whole: r.whole}, nil
}
