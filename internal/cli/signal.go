package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newSignal(e *env) *cobra.Command {
	return group("signal", "Name records that the next update has to look at", newSignalAdd(e), newSignalList(e))
}

func newSignalAdd(e *env) *cobra.Command {
	var s acting
	var endpoint, file, kind string
	c := &cobra.Command{
		Use:   "add SRC [ID…]",
		Short: "Say that records were retracted, merged or lack a field",
		Long: `Name records, by id or in a file with one id a line, and say why. They are asked for
by the next ` + "`patra update SRC --signals`" + `. A record that has an open signal of the
same kind gets no second one.`,
		Example: `  patra signal add pubmed 12345678 --kind RETRACTION --reason notice
  patra signal add pubmed --ids merged.txt --kind MERGE --reason list-of-the-NLM
  patra signal add pubmed --ids - --kind MISSING_FIELD --reason no-abstract --dry-run`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := refresh.ParseKind(kind)
			if err != nil {
				return usagef("--kind: %w", err)
			}
			ids, err := namedIDs(args[1:], file)
			if err != nil {
				return err
			}
			if s.reason == "" {
				return usagef("--reason is needed: whoever finds this later will ask for it")
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error {
				c, err := app.Compile(cmd.Context(), args[0], endpoint, ingest.Update, nil)
				if err != nil {
					return err
				}
				done, err := app.Operator.Signal(cmd.Context(), c.Snapshot.Dataset(), k, ids, s.act())
				if err != nil {
					return err
				}
				return e.showSignals(args[0], done, s.dry)
			})
		},
	}
	s.flags(c)
	c.Flags().StringVar(&endpoint, "endpoint", "", "endpoint of the source (default: the only one)")
	c.Flags().StringVar(&file, "ids", "", "the ids in this file, one a line; - is stdin")
	c.Flags().StringVar(&kind, "kind", "", "RETRACTION, MERGE or MISSING_FIELD")
	return c
}

func namedIDs(args []string, file string) ([]string, error) {
	switch {
	case file != "" && len(args) > 0:
		return nil, usagef("name ids or a file of them, not both")
	case file != "":
		return readIDs(file)
	case len(args) == 0:
		return nil, usagef("name the records: ids behind the source, or --ids FILE")
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
		return nil, usagef("name the records: ids behind the source, or --ids FILE")
	}
	return ids, nil
}

// signalled is what became of signals.
type signalled struct {
	ingest.SignalsAdded
	DryRun bool `json:"dryRun"`
}

func (e *env) showSignals(code string, done ingest.SignalsAdded, dry bool) error {
	err := show(e, signalled{done, dry}, []fact{
		{"added", done.Added},
		{"known", done.Known},
	})
	e.afterDry(dry)
	if !dry {
		e.hint("to look at them: patra update %s --signals", code)
	}
	return err
}

func newSignalList(e *env) *cobra.Command {
	f := &filter{statuses: statusTexts(refresh.Open, refresh.Done, refresh.Failed, refresh.NotFound)}
	c := &cobra.Command{
		Use:   "list",
		Short: "List signals, newest first",
		Example: `  patra signal list --source pubmed --status OPEN
  patra signal list --limit 200 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return e.listing(cmd.Context(), f, func(app *daemon.App) error {
				found, err := app.Records.ListSignals(cmd.Context(), f.ahead())
				if err != nil {
					return err
				}
				return listPage(e, page(e, "signals", found, f.Limit, func(s view.Signal) int64 { return s.ID }), newColumns(
					[]string{"id", "source", "record", "kind", "status", "since", "by", "reason"}, func(s view.Signal) []any {
						return []any{s.ID, short(s.Source, 14), short(s.ProviderID, 30), s.Kind, s.Status, moment(s.CreatedAt), short(s.Actor, 14), short(s.Reason, 40)}
					},
				))
			})
		},
	}
	f.flags(c)
	return c
}
