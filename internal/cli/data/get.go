package data

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// getting are the flags of looking a record up.
type getting struct {
	view.Looking
	ref, content string
}

func newDataGet(e *term.Env) *cobra.Command {
	var g getting
	c := &cobra.Command{
		Use:   "get [SRC[/ENDPOINT]] [ID]",
		Short: "Show a record with the history of its versions and where each comes from",
		Long: `Show a record: what is stored of it now, and its versions, newest first. Each tells
when it was read, which plan, slice, task, run and batch wrote it, under which
snapshot and mapping, whether the batch is in the database or archived, and what
became of its event. --diff shows what changed field by field.

Versions that were replaced stay until patra db prune --versions-keep removes them;
the output says how many are missing.

--ref takes the dataref of an event that was sent without its data, and prints that
data byte for byte, so that the size and SHA-256 in the event match.`,
		Example: `  patra data get crossref 10.5555/12345678
  patra data get crossref/works 10.5555/12345678 --diff
  patra data get crossref 10.5555/12345678 --version 2 --payload -o json
  patra data get --ref patra://crossref/works/10.5555%2F12345678?version=2`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if g.ref != "" {
				return eventData(cmd.Context(), e, g, args)
			}
			if len(args) != 2 {
				return term.Usagef("name a source and the id of a record, or an event's --ref")
			}
			if g.Looking.Version < 0 || cmd.Flags().Changed("version") && g.Looking.Version == 0 || g.Most < 1 || g.Most > term.PageSizeMax {
				return term.Usagef("--version and --limit: expected whole numbers from 1")
			}
			return readDataset(cmd.Context(), e, args[0], func(app *daemon.App, d view.Dataset) error {
				h, err := app.Inspect.History(cmd.Context(), d, args[1], g.Looking)
				if daemon.IsMissing(err) && h.ID == "" {
					return term.NotFoundf("%s %s has no record %q: type the id exactly as the source writes it; `patra data list %s` shows some", d.Source, d.Endpoint, args[1], args[0])
				}
				if err != nil {
					return err
				}
				return showHistory(e, h, g)
			})
		},
	}
	f := c.Flags()
	f.IntVar(&g.Looking.Version, "version", 0, "only this version, with its fields")
	f.IntVar(&g.Most, "limit", 20, "how many versions to show")
	f.BoolVar(&g.Diff, "diff", false, "what changed from version to version")
	f.BoolVar(&g.Payload, "payload", false, "also the item as the upstream sent it")
	f.StringVar(&g.ref, "ref", "", "dataref of an event that was sent without its data: print that data")
	f.StringVar(&g.content, "content", string(event.WholeRecord), "with --ref: content of the event's destination, record or fields")
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

// eventData prints what an event refers to.
func eventData(ctx context.Context, e *term.Env, g getting, args []string) error {
	if len(args) > 0 {
		return term.Usagef("--ref names the record: leave %s out", strings.Join(args, " "))
	}
	how := event.Content(g.content)
	if how != event.WholeRecord && how != event.FieldsOnly && how != event.NoData {
		return term.Usagef("--content %q: expected record, fields or none", g.content)
	}
	ref, err := event.ParseReference(g.ref)
	if err != nil {
		return err
	}
	return e.ReadStore(ctx, func(app *daemon.App) error {
		data, err := app.Inspect.EventData(ctx, ref, how)
		if err != nil {
			return err
		}
		return e.WriteStored(append(slices.Clip(data), '\n'))
	})
}

func showHistory(e *term.Env, h view.History, g getting) error {
	if e.Output == "json" {
		return e.JSON(h)
	}
	if err := term.PrintFacts(e, h, historyFacts(h)); err != nil {
		return err
	}
	if g.Looking.Version == 0 {
		printContent(e, h.Fields, h.Payload)
	}
	for _, v := range h.Versions {
		fmt.Fprintf(e.Out, "\nversion %d\n", v.Version)
		if err := term.PrintFacts(e, v, versionFacts(v)); err != nil {
			return err
		}
		if g.Looking.Version != 0 {
			printContent(e, v.Fields, v.Payload)
		}
	}
	if h.Removed > 0 {
		e.Hint("versions 1 to %d were removed by retention (`patra db prune --versions-keep`)", h.Removed)
	}
	if h.More > 0 {
		e.Hint("%d older versions are not shown: add --limit %d", h.More, h.More+len(h.Versions))
	}
	return nil
}

func printContent(e *term.Env, fields, payload json.RawMessage) {
	if len(fields) > 0 {
		fmt.Fprintf(e.Out, "\nfields\n%s\n", term.IndentJSON(fields))
	}
	if len(payload) > 0 {
		fmt.Fprintf(e.Out, "\npayload\n%s\n", term.IndentJSON(payload))
	}
}

func historyFacts(h view.History) []term.Fact {
	facts := []term.Fact{
		{"record", h.ID}, {"source", h.Source + " " + h.Endpoint}, {"state", h.State}, {"version", h.Version}, {"updated", h.UpdatedAt}, {"fetched", h.FetchAt},
	}
	if h.MergedInto != "" {
		facts = append(facts, term.Fact{"merged into", h.MergedInto})
	}
	if !h.CheckedAt.IsZero() {
		facts = append(facts, term.Fact{"looked at again", h.CheckedAt})
	}
	if !h.MissingSince.IsZero() {
		facts = append(facts, term.Fact{"missing since", h.MissingSince})
	}
	return facts
}

func versionFacts(v view.Version) []term.Fact {
	facts := []term.Fact{{"state", wording.OrDash(v.State)}, {"updated", v.UpdatedAt}, {"fetched", v.FetchedAt}, {"work", workText(v.Origin)}}
	if v.Origin.Spec != "" {
		facts = append(facts, term.Fact{"snapshot", v.Origin.Spec}, term.Fact{"mapping", wording.OrDash(v.Origin.Mapping)})
	}
	facts = append(facts, term.Fact{"evidence", evidenceText(v.Origin)})
	for _, o := range v.Events {
		text := fmt.Sprintf("%d %s %s", o.ID, o.Op, o.Status)
		if !o.PublishedAt.IsZero() {
			text += " " + wording.SecondText(o.PublishedAt)
		}
		facts = append(facts, term.Fact{"event", text})
	}
	if len(v.Events) == 0 {
		facts = append(facts, term.Fact{"event", "removed by retention"})
	}
	for _, c := range v.Changed {
		facts = append(facts, term.Fact{"changed " + c.Name, wording.Shorten(sideText(c.Was), 80) + "\n" + wording.Shorten(sideText(c.Is), 80)})
	}
	return facts
}

// sideText is a value of a field before or after a change.
func sideText(value json.RawMessage) string {
	if len(value) == 0 {
		return "(none)"
	}
	return string(value)
}

func workText(o view.Origin) string {
	if o.PlanID == 0 {
		return fmt.Sprintf("batch %d", o.BatchID)
	}
	return fmt.Sprintf("%s plan %d, slice %d, task %d, run %d, batch %d (%d/%d)", strings.ToLower(o.Operation), o.PlanID, o.SliceID, o.TaskID, o.RunID, o.BatchID, o.RunID, o.BatchNo)
}

func evidenceText(o view.Origin) string {
	switch o.Where {
	case view.Here:
		return fmt.Sprintf("in the database: patra batch show %d", o.BatchID)
	case view.Archived:
		return "archived in " + o.Archive
	}
	return "the batch is neither in the database nor in an archive that can be read here"
}
