package work

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func NewSignal(e *term.Env) *cobra.Command {
	return term.NewGroup("signal", "Name records that the next update must re-check", newSignalAdd(e), newSignalList(e))
}

func newSignalAdd(e *term.Env) *cobra.Command {
	var s term.Acting
	var endpoint, file, kind string
	c := &cobra.Command{
		Use:   "add SRC [ID…]",
		Short: "Say that records were retracted, merged or lack a field",
		Long: `Name records, by id or in a file with one id a line, and say why. They are asked for
by the next ` + "`patra update SRC --signals`" + `. A record that has an open signal of the
same kind gets no second one. A source whose records cannot be asked for by id takes
no signals.`,
		Example: `  patra signal add pubmed 12345678 --kind RETRACTION --reason notice
  patra signal add pubmed --ids merged.txt --kind MERGE --reason list-of-the-NLM
  patra signal add pubmed --ids - --kind MISSING_FIELD --reason no-abstract --dry-run`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := refresh.ParseKind(kind)
			if err != nil {
				return term.Usagef("--kind: %w", err)
			}
			ids, err := namedIDs(args[1:], file)
			if err != nil {
				return err
			}
			if s.Reason == "" {
				return term.Usagef("--reason is needed: whoever finds this later will ask for it")
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				c, err := app.Compile(cmd.Context(), args[0], endpoint, ingest.Update, nil)
				if err != nil {
					return err
				}
				done, err := app.Operator.Signal(cmd.Context(), c.Snapshot, k, ids, s.Act())
				if err != nil {
					return err
				}
				return showSignals(e, args[0], done, s.Dry)
			})
		},
	}
	s.Flags(c)
	c.Flags().StringVar(&endpoint, "endpoint", "", "endpoint of the source (default: the only one)")
	c.Flags().StringVar(&file, "ids", "", "the ids in this file, one a line; - is stdin")
	c.Flags().StringVar(&kind, "kind", "", "RETRACTION, MERGE or MISSING_FIELD")
	return c
}

func namedIDs(args []string, file string) ([]string, error) {
	switch {
	case file != "" && len(args) > 0:
		return nil, term.Usagef("name ids or a file of them, not both")
	case file != "":
		return readIDs(file)
	case len(args) == 0:
		return nil, term.Usagef("name the records: ids behind the source, or --ids FILE")
	}
	var ids []string
	seen := map[string]bool{}
	for _, id := range args {
		if id = strings.TrimSpace(id); id != "" && !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, term.Usagef("name the records: ids behind the source, or --ids FILE")
	}
	return ids, nil
}

// signalled is what became of signals.
type signalled struct {
	ingest.SignalsAdded
	DryRun bool `json:"dryRun"`
}

func showSignals(e *term.Env, code string, done ingest.SignalsAdded, dry bool) error {
	err := term.PrintFacts(e, signalled{done, dry}, []term.Fact{
		{"added", done.Added},
		{"known", done.Known},
	})
	e.HintDryRun(dry)
	if !dry {
		e.Hint("to re-check them: patra update %s --signals", code)
	}
	return err
}

func newSignalList(e *term.Env) *cobra.Command {
	l := term.Lister[view.Signal]{
		Noun: "signals", Statuses: term.StatusTexts(refresh.Open, refresh.Done, refresh.Failed, refresh.NotFound),
		Columns: signalColumns(),
		ID:      func(s view.Signal) int64 { return s.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]view.Signal, error) {
			return app.Records.ListSignals(ctx, f)
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List signals, newest first",
		Example: `  patra signal list --source pubmed --status OPEN
  patra signal list --limit 200 -o json`,
	})
	return c
}

func signalColumns() term.Columns[view.Signal] {
	return term.NewColumns([]string{"id", "source", "record", "kind", "status", "since", "by", "reason"}, func(s view.Signal) []any {
		return []any{s.ID, wording.Shorten(s.Source, 14), wording.Shorten(s.ProviderID, 30), s.Kind, s.Status, wording.DateOrSecond(s.CreatedAt), wording.Shorten(s.Actor, 14), wording.Shorten(s.Reason, 40)}
	})
}
