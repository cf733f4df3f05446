package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/daemon"
)

// version is set by the build.
var version = "dev"

// Main runs the command line and gives the exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	return report(ctx, command, err, stderr, wantsJSON(args))
}

// env is what every command shares: where output goes and the global flags.
type env struct {
	out, err io.Writer
	output   string // table or json
	database string
	rawDir   string // of commands that read bodies of answers

	archiveDir string // of commands that read or write archives
	configFile string // patra.yaml, if it was named
	installed  daemon.Installed
	verbose    bool
	colour     bool // status words in colours: stdout is a terminal that has them
	quiet      bool
	warned     []string // what this command has warned of
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	e := &env{out: stdout, err: stderr, colour: hasColours(stdout)}
	root := &cobra.Command{
		Use:   "patra",
		Short: "Keep a local copy of scholarly sources complete and fresh",
		Long: `patra keeps a local copy of scholarly sources (Crossref, …) complete and fresh,
and can show that nothing is missing.

Data goes to stdout, progress and hints to stderr. Times are UTC, windows are
half-open: [from, to).

Exit codes: 0 ok · 1 failure · 2 usage or invalid configuration · 3 finished with
failures or rejects · 4 credentials · 5 not found · 6 conflict · 7 upstream, try
later · 8 changes pending · 9 findings (gaps, failed verify) · 130 interrupted`,
		Example: `  patra demo
  patra harvest crossref --set contact.email=you@example.org
  patra coverage gaps crossref`,
		SilenceUsage: true, SilenceErrors: true, Version: version,
		DisableSuggestions: true, // nearestCommand has its own, for verbs too
		PersistentPreRunE:  func(*cobra.Command, []string) error { return e.check() },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	flags := root.PersistentFlags()
	flags.StringVarP(&e.output, "output", "o", "table", "table or json")
	// No default here: help would print it, and PATRA_DB may hold a password (I12).
	flags.StringVar(&e.database, "db", "", "database: sqlite:FILE, mysql://user:password@host:port/db, or env:NAME, file:PATH or exec:COMMAND that give one (default PATRA_DB, else sqlite:patra.db)")
	flags.StringVar(&e.configFile, "config", "", "settings of this installation (default PATRA_CONFIG, else patra.yaml in the user's configuration folder or in /etc/patra)")
	flags.BoolVarP(&e.verbose, "verbose", "v", false, "log what happens to stderr")
	flags.BoolVarP(&e.quiet, "quiet", "q", false, "no progress and no hints")
	root.AddCommand(
		newDemo(e), newServe(e), newStatus(e), newHarvest(e), newBackfill(e), newUpdate(e), newSignal(e), newQuarantine(e), newPlan(e), newSource(e), newTask(e), newRun(e), newBatch(e), newSlice(e), newCursor(e), newCoverage(e), newRate(e), newEvents(e), newOutbox(e), newData(e), newAudit(e), newDB(e), newVersion(e),
	)
	completeArguments(root, e)
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return root
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func (e *env) check() error {
	if e.output != "table" && e.output != "json" {
		return usagef("unknown output %q: use table or json", e.output)
	}
	if e.database == "" {
		e.database = envOr("PATRA_DB", "sqlite:patra.db")
	}
	if !strings.Contains(e.database, ":") {
		return usagef("--db %q: write sqlite:%s, or mysql://user:password@host:port/database", e.database, e.database)
	}
	return e.readInstalled()
}

// open opens the database for commands that change it.
func (e *env) open(ctx context.Context, change func(*daemon.Config)) (*daemon.App, error) {
	config := daemon.Config{Database: e.database, Log: e.logger(), Warn: e.warnOnce, Raw: daemon.RawConfig{Dir: rawDir(e.rawDir)},
		Archive: daemon.ArchiveConfig{Dir: archiveDir(e.archiveDir)}, Installed: e.installed}
	if change != nil {
		change(&config)
	}
	app, err := daemon.Open(ctx, config)
	if err == nil {
		e.hintNew(app)
	}
	return app, err
}

// look opens the database for commands that only read: nothing is created.
func (e *env) look(ctx context.Context) (*daemon.App, error) {
	return e.open(ctx, func(c *daemon.Config) { c.MustExist = true })
}

// logger tells everything to those who want it, and alarms to everybody: whoever
// harvests by hand must hear that the source was stopped.
func (e *env) logger() *slog.Logger {
	level := slog.LevelError
	if e.verbose {
		level = slog.LevelDebug
	}
	return newLog(e.err, level)
}

// hint writes a line for people, unless they asked for silence.
func (e *env) hint(format string, args ...any) {
	if !e.quiet {
		fmt.Fprintln(e.err, printable(fmt.Sprintf(format, args...)))
	}
}

// parseTime reads RFC 3339, a date, or a stretch before now such as -7d.
func parseTime(flag, text string, now time.Time) (*time.Time, error) {
	if text == "" {
		return nil, nil
	}
	if stretch, ok := strings.CutPrefix(text, "-"); ok {
		d, err := parseStretch(stretch)
		if err != nil {
			return nil, usagef("--%s %q: %v", flag, text, err)
		}
		at := window.Instant(now.Add(-d))
		return &at, nil
	}
	at, err := window.ParseInstant(text)
	if err != nil {
		return nil, usagef("--%s: %v (or a stretch before now, such as -7d)", flag, err)
	}
	return &at, nil
}
