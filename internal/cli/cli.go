package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/admin"
	"github.com/patra-ingest/patra/internal/cli/alert"
	"github.com/patra-ingest/patra/internal/cli/coverage"
	"github.com/patra-ingest/patra/internal/cli/cursor"
	"github.com/patra-ingest/patra/internal/cli/data"
	"github.com/patra-ingest/patra/internal/cli/demo"
	"github.com/patra-ingest/patra/internal/cli/events"
	"github.com/patra-ingest/patra/internal/cli/ledger"
	"github.com/patra-ingest/patra/internal/cli/quarantine"
	"github.com/patra-ingest/patra/internal/cli/rate"
	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/stats"
	"github.com/patra-ingest/patra/internal/cli/status"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/cli/token"
	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Main runs the command line and gives the exit code.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	stderr = term.Share(stderr)
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	return reportError(ctx, command, daemon.Advise(err), stderr, wantsJSON(args))
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	e := &term.Env{Out: stdout, Err: stderr, Colour: term.HasColours(stdout)}
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
		SilenceUsage: true, SilenceErrors: true, Version: term.Version,
		DisableSuggestions: true, // nearestCommand has its own, for verbs too
		PersistentPreRunE:  func(*cobra.Command, []string) error { return e.CheckFlags() },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return term.Usage(err) })
	flags := root.PersistentFlags()
	flags.StringVarP(&e.Output, "output", "o", "table", "table or json")
	// No default here: help would print it, and PATRA_DB may hold a password (I12).
	flags.StringVar(&e.Database, "db", "", "database: sqlite:FILE, mysql://user:password@host:port/db, or env:NAME, file:PATH or exec:COMMAND that give one (default PATRA_DB, else sqlite:patra.db)")
	flags.StringVar(&e.ConfigFile, "config", "", "settings of this installation (default PATRA_CONFIG, else patra.yaml in the user's configuration folder or in /etc/patra)")
	flags.BoolVarP(&e.Verbose, "verbose", "v", false, "show details, and log at level debug to stderr (to --log-file if that is given)")
	flags.BoolVarP(&e.Quiet, "quiet", "q", false, "no progress and no hints, except the hint that a new database was created")
	e.Log.Flags(flags)
	root.AddCommand(
		demo.New(e), work.NewServe(e), status.New(e), stats.New(e), work.NewMetrics(e), work.NewHarvest(e), work.NewBackfill(e), work.NewUpdate(e), work.NewSignal(e), quarantine.New(e), work.NewPlan(e), source.New(e), ledger.NewTask(e), ledger.NewRun(e), ledger.NewBatch(e), ledger.NewSlice(e), cursor.New(e), coverage.New(e), rate.New(e), events.New(e), events.NewOutbox(e), alert.New(e), token.New(e), data.New(e), admin.NewAudit(e), admin.NewConfig(e), admin.NewDB(e), admin.NewVersion(e),
	)
	completeArguments(root, e)
	for name, values := range map[string][]string{"output": {"table", "json"}, "log-format": config.LogFormats, "log-level": config.LogLevels} {
		_ = root.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	}
	return root
}
