package quarantine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// choosing are the flags that choose rejected items to act on.
type choosing struct {
	term.Acting
	narrowing
	all bool
}

func (p *choosing) flags(c *cobra.Command) {
	p.Acting.Flags(c)
	p.narrowing.flags(c)
	c.Flags().BoolVar(&p.all, "all", false, "all open items of the source")
}

// parsePick reads what was chosen: numbers, or a source and what narrows it.
func (p *choosing) parsePick(args []string) (pick ingest.RejectPick, err error) {
	if err := p.check(); err != nil {
		return pick, err
	}
	if len(args) > 0 {
		if _, err := strconv.ParseInt(args[0], 10, 64); err != nil {
			pick.Dataset.Source, args = args[0], args[1:]
		}
	}
	for _, arg := range args {
		id, err := term.ParseID("quarantine", arg)
		if err != nil {
			return pick, err
		}
		pick.IDs = append(pick.IDs, id)
	}
	switch {
	case pick.Named() && (p.all || p.isNarrowed()):
		return pick, term.Usagef("name items by their numbers, or choose them with --all, --endpoint, --code, --path and --batch, not both")
	case !pick.Named() && pick.Dataset.Source == "":
		return pick, term.Usagef("name items by their numbers, or a source with --all, --endpoint, --code, --path or --batch")
	case !pick.Named() && !p.all && !p.isNarrowed():
		return pick, term.Usagef("say which items of %s: their numbers, --all, --endpoint, --code, --path or --batch", pick.Dataset.Source)
	}
	pick.Dataset.Endpoint, pick.Reason, pick.Path, pick.BatchID = p.endpoint, record.Reason(p.code), p.path, p.batch
	return pick, nil
}

// byDataset cuts a pick into picks of one dataset each: each is read by a plan of its own.
func byDataset(ctx context.Context, app *daemon.App, pick ingest.RejectPick) (out []ingest.RejectPick, err error) {
	if !pick.Named() {
		groups, err := app.Quarantine.ListGroups(ctx, pick.Dataset.Source, false)
		for _, g := range groups {
			of := pick
			of.Dataset.Endpoint = g.Endpoint
			if (pick.Dataset.Endpoint == "" || pick.Dataset.Endpoint == g.Endpoint) && (len(out) == 0 || out[len(out)-1].Dataset != of.Dataset) {
				out = append(out, of)
			}
		}
		return out, err
	}
	at := map[ingest.Dataset]int{}
	for _, id := range pick.IDs {
		r, err := app.Quarantine.Show(ctx, id)
		if err != nil {
			return nil, err
		}
		d := ingest.Dataset{Source: r.Source, Endpoint: r.Endpoint}
		if pick.Dataset.Source != "" && pick.Dataset.Source != d.Source {
			return nil, term.Usagef("item %d is of %s, not of %s", id, d.Source, pick.Dataset.Source)
		}
		i, known := at[d]
		if !known {
			i, out = len(out), append(out, ingest.RejectPick{Dataset: d})
			at[d] = i
		}
		out[i].IDs = append(out[i].IDs, id)
	}
	return out, nil
}

func newQuarantineDiscard(e *term.Env) *cobra.Command {
	var p choosing
	var yes bool
	c := &cobra.Command{
		Use:   "discard [SRC] [ID…]",
		Short: "Say that rejected items are junk; they stay counted",
		Long: `Say that rejected items are junk: items named by their numbers, or all items of a
source that match the filters. They are not looked at again: if the same item comes
once more, it stays discarded. They stay in the database, and groups --all counts
them. A reason is needed. This cannot be undone.

If a filter chooses several items, they are only counted unless you add --yes.`,
		Example: `  patra quarantine discard 17 18 --reason test-records
  patra quarantine discard crossref --code BAD_ID --dry-run
  patra quarantine discard crossref --code BAD_ID --path $.DOI --yes --reason not-ours`,
		RunE: func(cmd *cobra.Command, args []string) error {
			pick, err := p.parsePick(args)
			if err != nil {
				return err
			}
			if p.Reason == "" && !p.Dry {
				return term.Usagef("--reason is needed: whoever finds this later will ask for it")
			}
			return e.ReadSource(cmd.Context(), pick.Dataset.Source, func(app *daemon.App) error {
				return discardRejects(cmd.Context(), e, app, p, pick, yes)
			})
		},
	}
	p.flags(c)
	c.Flags().BoolVar(&yes, "yes", false, "do it to all that are chosen by a filter")
	return c
}

// rejectsDone is what became of items, as JSON.
type rejectsDone struct {
	ingest.RejectsDone
	DryRun bool `json:"dryRun"`
}

func discardRejects(ctx context.Context, e *term.Env, app *daemon.App, p choosing, pick ingest.RejectPick, yes bool) error {
	if pick.Named() {
		if _, err := byDataset(ctx, app, pick); err != nil { // of the source that was named with them
			return err
		}
	}
	act := p.Act()
	unsure := !pick.Named() && !yes && !p.Dry
	act.Rehearsal = p.Dry || unsure
	done, err := app.Quarantine.Discard(ctx, pick, act)
	if err != nil {
		return err
	}
	if err := term.PrintFacts(e, rejectsDone{done, act.Rehearsal}, []term.Fact{{"discarded", wording.Count(done.Changed, "item")}, {"left as they are", wording.Count(done.Unchanged, "item")}}); err != nil {
		return err
	}
	if unsure && done.Changed > 0 {
		return term.Usagef("%s would be discarded for good: add --yes to do it, or --dry-run to only look", wording.Count(done.Changed, "item"))
	}
	e.HintDryRun(p.Dry)
	return nil
}

// chosenBy is a pick as flags, for hints.
func chosenBy(source string, p choosing) string {
	text := []string{source}
	for _, f := range []struct{ name, value string }{{"endpoint", p.endpoint}, {"code", p.code}, {"path", p.path}} {
		if f.value != "" {
			text = append(text, fmt.Sprintf("--%s %s", f.name, f.value))
		}
	}
	if len(text) == 1 {
		text = append(text, "--all")
	}
	return strings.Join(text, " ")
}
