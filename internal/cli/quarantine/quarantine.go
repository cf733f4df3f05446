package quarantine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func New(e *term.Env) *cobra.Command {
	return term.NewGroup("quarantine", "Look at items that could not be stored, and decide about them",
		newQuarantineGroups(e), newQuarantineList(e), newQuarantineShow(e), newQuarantineRequeue(e), newQuarantineDiscard(e), newQuarantineExport(e))
}

// shownExample is how much of an item a group shows on a terminal.
const shownExample = 300

func newQuarantineGroups(e *term.Env) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "groups [SRC]",
		Short: "Count rejected items by endpoint, reason and place",
		Long: `Count rejected items by endpoint, reason and the place in the item, with one example
of each, in which what looks like data of a person is masked. Items that are settled
or were discarded are left out, unless --all asks for them.`,
		Example: `  patra quarantine groups
  patra quarantine groups crossref --all -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			source := strings.Join(args, "")
			return e.ReadSource(cmd.Context(), source, func(app *daemon.App) error {
				groups, err := app.Quarantine.ListGroups(cmd.Context(), source, all)
				if err != nil {
					return err
				}
				for i := range groups {
					groups[i].Example = wording.Shorten(groups[i].Example, shownExample)
				}
				if len(groups) == 0 {
					e.Hint("nothing is in quarantine")
				}
				return showGroups(e, groups)
			})
		},
	}
	c.Flags().BoolVar(&all, "all", false, "count settled and discarded items too")
	return c
}

// showGroups prints the groups, and below them an example of each.
func showGroups(e *term.Env, groups []view.RejectGroup) error {
	err := term.PrintList(e, groups, term.NewColumns([]string{"source", "reason", "path", "status", "items", "last seen", "e.g."}, func(g view.RejectGroup) []any {
		return []any{wording.Shorten(g.Source+"/"+g.Endpoint, 22), g.Reason, wording.OrDash(wording.Shorten(g.Path, 24)), g.Status, g.Count, wording.MinuteText(g.LastSeen), g.ExampleID}
	}))
	if err != nil || e.Output == "json" {
		return err
	}
	if len(groups) > 0 {
		e.Hint("details of one item: patra quarantine show %d", groups[0].ExampleID)
	}
	for _, g := range groups {
		fmt.Fprintln(e.Out, wording.Shorten(term.Printable(fmt.Sprintf("%d: %s: %s", g.ExampleID, g.Detail, g.Example)), 120))
	}
	return nil
}

// rejectStates in the order of a life.
func rejectStates() []string {
	return term.StatusTexts(ingest.RejectOpen, ingest.RejectRequeued, ingest.RejectResolved, ingest.RejectDiscarded)
}

func checkRejectStatus(status *string) error {
	*status = strings.ToUpper(*status)
	if *status != "" && !slices.Contains(rejectStates(), *status) {
		return term.Usagef("--status %s: expected %s", *status, strings.Join(rejectStates(), ", "))
	}
	return nil
}

// narrowing are the flags that choose rejected items of a source. The reason of an
// item is its code: --reason is why somebody acts, everywhere.
type narrowing struct {
	endpoint, code, path string
	batch                int64
}

func (n *narrowing) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&n.endpoint, "endpoint", "", "only of this endpoint")
	f.StringVar(&n.code, "code", "", "only rejected for this reason, such as MISSING_FIELD")
	f.StringVar(&n.path, "path", "", "only rejected at this place, as groups prints it")
	f.Int64Var(&n.batch, "batch", 0, "only rejected by this batch")
}

func (n *narrowing) check() error {
	n.code = strings.ToUpper(n.code)
	reasons := []record.Reason{record.MissingID, record.LongID, record.BadID, record.BadUpdatedAt, record.MissingField, record.IllegalValue, record.RepeatedID, record.BadItem, record.MappingFailed,
		record.IDCollision, record.MissingDetail, record.DetailFailed, record.ItemFailed}
	switch {
	case n.code != "" && !slices.Contains(reasons, record.Reason(n.code)):
		return term.Usagef("--code %s: expected %s", n.code, strings.Join(term.StatusTexts(reasons...), ", "))
	case n.batch < 0:
		return term.Usagef("--batch %d: expected an id, a whole number from 1", n.batch)
	}
	return nil
}

func (n *narrowing) isNarrowed() bool {
	return n.endpoint != "" || n.code != "" || n.path != "" || n.batch != 0
}

func newQuarantineList(e *term.Env) *cobra.Command {
	var n narrowing
	var status string
	var pages term.AfterFlags
	c := &cobra.Command{
		Use:   "list [SRC]",
		Short: "List rejected items, oldest first",
		Long: `List rejected items, oldest first.

  OPEN       not decided yet
  REQUEUED   it is to be read again
  RESOLVED   its record is stored, or a newer version of it
  DISCARDED  a person said that it is junk`,
		Example: `  patra quarantine list crossref
  patra quarantine list crossref --code MISSING_FIELD --path $.title --limit 200
  patra quarantine list --status DISCARDED --after 4711 -o json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(pages.Check(), n.check(), checkRejectStatus(&status)); err != nil {
				return err
			}
			source := strings.Join(args, "")
			return e.ReadSource(cmd.Context(), source, func(app *daemon.App) error {
				rows, err := app.Quarantine.List(cmd.Context(), view.RejectFilter{
					Source: source, Endpoint: n.endpoint, Reason: n.code, Path: n.path, BatchID: n.batch, Status: status, After: pages.After, Limit: pages.Limit + 1,
				})
				if err != nil {
					return err
				}
				return term.PrintPage(e, term.PageAfter(e, "items", rows, pages.Limit, func(r view.Reject) string { return strconv.FormatInt(r.ID, 10) }), term.NewColumns([]string{"id", "source", "record", "reason", "path", "status", "seen", "tries"}, func(r view.Reject) []any {
					return []any{r.ID, wording.Shorten(r.Source+"/"+r.Endpoint, 22), wording.OrDash(wording.Shorten(term.Printable(r.ProviderID), 24)), r.Reason, wording.OrDash(wording.Shorten(r.Path, 20)), r.Status, r.Seen, r.Attempts}
				}))
			})
		},
	}
	n.flags(c)
	c.Flags().StringVar(&status, "status", "", "only with this status: "+strings.Join(rejectStates(), ", "))
	pages.Flags(c, "only behind this one: the next page", "how many to list, oldest first")
	return c
}

func newQuarantineShow(e *term.Env) *cobra.Command {
	return term.NewShow(e, "quarantine", &cobra.Command{
		Short: "Show one rejected item: why, where it came from, and the item itself",
		Long: `Show one rejected item: why it was rejected and at which place, where it came from,
what became of it, and the item as the upstream sent it. The item is not masked.`,
		Example: `  patra quarantine show 17
  patra quarantine show 17 -o json`,
	}, func(ctx context.Context, app *daemon.App, id int64) error { return showReject(ctx, e, app, id) })
}

func showReject(ctx context.Context, e *term.Env, app *daemon.App, id int64) error {
	r, err := app.Quarantine.Show(ctx, id)
	if err != nil {
		return err
	}
	r = r.WithItem()
	judged := "-"
	if r.JudgedBy != 0 {
		judged = fmt.Sprintf("batch %d", r.JudgedBy)
	}
	if err := term.PrintFacts(e, r, []term.Fact{
		{"id", r.ID},
		{"source", r.Source + "/" + r.Endpoint},
		{"record", wording.OrDash(term.Printable(r.ProviderID))},
		{"status", r.Status},
		{"reason", r.Reason},
		{"path", wording.OrDash(r.Path)},
		{"detail", term.Wrap(r.Detail)},
		{"note", wording.OrDash(term.Wrap(r.Note))},
		{"seen", fmt.Sprintf("%d times, first %s, last %s", r.Seen, wording.SecondText(r.FirstSeen), wording.SecondText(r.LastSeen))},
		{"read again", fmt.Sprintf("%d times, last by %s", r.Attempts, judged)},
		{"lineage", fmt.Sprintf("plan %d, slice %d, task %d, run %d, batch %d, item %d", r.PlanID, r.SliceID, r.TaskID, r.RunID, r.BatchID, r.Index)},
		{"raw hash", r.RawHash},
	}); err != nil || e.Output == "json" {
		return err
	}
	fmt.Fprintln(e.Out, "\n"+term.Printable(itemText(r)))
	hintReject(e, r)
	return nil
}

// itemText is the item for people.
func itemText(r view.Reject) string {
	var out bytes.Buffer
	if r.Raw != nil && json.Indent(&out, r.Raw, "", "  ") == nil {
		return out.String()
	}
	return r.RawText
}

// hintReject says what to do next.
func hintReject(e *term.Env, r view.Reject) {
	switch ingest.RejectStatus(r.Status) {
	case ingest.RejectOpen:
		e.Hint("correct the source file and apply it, then: patra quarantine requeue %d\njunk: patra quarantine discard %d --reason …", r.ID, r.ID)
	case ingest.RejectRequeued:
		e.Hint("it waits to be read again: patra quarantine requeue %s --all", r.Source)
	}
}
