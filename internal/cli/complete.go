package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/source"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// Completion offers what a command takes: sources, ids, campaigns, rate keys, and the
// words of flags that take a word of a list. It reads what is stored, creates nothing
// and never complains: where nothing can be offered the shell offers files.

// offered is how many ids are offered, the newest of them.
const offered = 30

// completeArguments gives every command below root its completion, by what its usage
// line calls its arguments.
func completeArguments(root *cobra.Command, e *term.Env) {
	for _, c := range root.Commands() {
		completeArguments(c, e)
		if _, args, _ := strings.Cut(c.Use, " "); args != "" && c.ValidArgsFunction == nil {
			c.ValidArgsFunction = completeNoun(e, c, strings.Fields(args))
		}
		completeFlags(c, e)
	}
}

// completeNoun offers words for the argument that is being typed. The last one may be
// repeated.
func completeNoun(e *term.Env, c *cobra.Command, args []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, typed []string, _ string) ([]string, cobra.ShellCompDirective) {
		at := len(typed)
		if last := len(args) - 1; at > last {
			if !strings.Contains(args[last], "…") {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			at = last
		}
		kind := strings.Trim(args[at], "[]…")
		words := wordsFor(cmd.Context(), e, nounOf(c), kind)
		if strings.Contains(kind, "FILE") || strings.Contains(kind, "DIR") || strings.Contains(kind, "BUNDLE") {
			return words, cobra.ShellCompDirectiveDefault
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// nounOf is what the ids of a command are ids of.
func nounOf(c *cobra.Command) string {
	if c.Name() == "unsilence" {
		return "silence"
	}
	if c.HasParent() && c.Parent().HasParent() {
		return c.Parent().Name()
	}
	return c.Name()
}

// wordsFor are what can stand for an argument of a kind.
func wordsFor(ctx context.Context, e *term.Env, noun, kind string) (out []string) {
	if e.CheckFlags() != nil {
		return nil
	}
	e.Quiet = true // hints would stand among the words
	_ = e.ReadRegistry(ctx, func(app *daemon.App) (err error) {
		switch {
		case strings.HasPrefix(kind, "SRC"):
			out, err = sourceWords(ctx, app)
		case kind == "RECEIVER":
			out = e.Installed.Alerts.ReceiverNames()
		case app == nil:
		case kind == "NAME" && noun == "backfill":
			out, err = campaignWords(ctx, app)
		case kind == "KEY":
			out, err = keyWords(ctx, app)
		case strings.Contains(kind, "ID") || kind == "A" || kind == "B":
			out, err = idWords(ctx, app, noun)
		}
		return err
	})
	return out
}

func sourceWords(ctx context.Context, app *daemon.App) (out []string, err error) {
	sources, err := source.List(ctx, app)
	for _, s := range sources {
		out = append(out, s.Code+"\t"+s.Name)
	}
	return out, err
}

// findingWords are the codes of findings, with how much they matter.
func findingWords() (out []string) {
	for _, code := range view.FindingCodes() {
		out = append(out, string(code)+"\t"+string(code.Severity()))
	}
	return out
}

func campaignWords(ctx context.Context, app *daemon.App) (out []string, err error) {
	campaigns, err := app.Campaigns.List(ctx, "", "")
	for _, c := range campaigns {
		out = append(out, fmt.Sprintf("%s\t%s, %s", c.Name, c.Dataset.Source, c.State))
	}
	return out, err
}

func keyWords(ctx context.Context, app *daemon.App) (out []string, err error) {
	keys, err := app.Inspect.RateKeys(ctx)
	for _, k := range keys {
		out = append(out, k.Key)
	}
	return out, err
}

// idWords offers the newest ids of a noun, with what tells them apart.
func idWords(ctx context.Context, app *daemon.App, noun string) ([]string, error) {
	f := view.Filter{Limit: offered}
	switch noun {
	case "task":
		rows, err := app.Tasks.List(ctx, f)
		return idsOf(rows, func(t view.Task) (int64, string) {
			return t.ID, t.Source + " " + t.Status + " " + term.WindowToMinute(t.Window)
		}), err
	case "run":
		rows, err := app.Tasks.ListRuns(ctx, f)
		return idsOf(rows, func(r view.Run) (int64, string) {
			return r.ID, r.Source + " " + r.Status + " " + term.WindowToMinute(r.Window)
		}), err
	case "batch":
		rows, err := app.Tasks.ListBatches(ctx, f)
		return idsOf(rows, func(b view.Batch) (int64, string) {
			return b.ID, fmt.Sprintf("%s run %d page %d %s", b.Source, b.RunID, b.Page, b.Status)
		}), err
	case "slice":
		rows, err := app.Plans.ListSlices(ctx, f)
		return idsOf(rows, func(s view.Slice) (int64, string) {
			return s.ID, s.Source + " " + s.Status + " " + term.WindowToMinuteOrDash(s.Window)
		}), err
	case "plan":
		rows, err := app.Plans.List(ctx, f)
		return idsOf(rows, func(p view.Plan) (int64, string) { return p.ID, p.Source + " " + p.Operation + " " + p.Status }), err
	case "cursor":
		rows, err := app.Cursors.List(ctx, "")
		return idsOf(rows, func(c view.Cursor) (int64, string) { return c.ID, c.Source + "/" + c.Endpoint + " " + c.Operation }), err
	case "quarantine":
		rows, err := app.Quarantine.List(ctx, view.RejectFilter{Limit: offered})
		return idsOf(rows, func(r view.Reject) (int64, string) { return r.ID, r.Source + " " + r.Reason + " " + r.Status }), err
	case "alert":
		rows, err := app.Alerts.List(ctx, f)
		return idsOf(rows, func(k alert.Kept) (int64, string) {
			return k.ID, string(k.State) + " " + string(k.Alert.Code) + " " + k.Alert.About
		}), err
	case "silence":
		rows, err := app.Alerts.ListSilences(ctx, f)
		return idsOf(rows, func(s alert.Silence) (int64, string) {
			return s.ID, "until " + wording.SecondText(s.Until) + ": " + s.Reason
		}), err
	case "outbox":
		rows, err := app.Events.List(ctx, f)
		return idsOf(rows, func(o view.Outgoing) (int64, string) { return o.ID, o.Source + " " + o.Op + " " + o.Status }), err
	}
	return nil, nil
}

func idsOf[T any](rows []T, of func(T) (int64, string)) (out []string) {
	for _, row := range rows {
		id, about := of(row)
		out = append(out, strconv.FormatInt(id, 10)+"\t"+term.Printable(about))
	}
	return out
}

// completeFlags offers sources for --source, and the words that the help of a flag
// lists for those that take one of a list.
func completeFlags(c *cobra.Command, e *term.Env) {
	offer := func(name string, words func(context.Context) []string) {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
				return words(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
			})
		}
	}
	offer("source", func(ctx context.Context) []string { return wordsFor(ctx, e, "", "SRC") })
	offer("op", func(context.Context) []string { return []string{"HARVEST", "BACKFILL", "UPDATE"} })
	offer("campaign", func(ctx context.Context) []string { return wordsFor(ctx, e, "backfill", "NAME") })
	if c.HasParent() && c.Parent().Name() == "alert" {
		offer("code", func(context.Context) []string { return findingWords() })
	}
	if flag := c.Flags().Lookup("status"); flag != nil {
		_, list, _ := strings.Cut(flag.Usage, ": ")
		words := slices.DeleteFunc(strings.Split(list, ", "), func(word string) bool { return word == "" })
		offer("status", func(context.Context) []string { return words })
	}
}
