package work

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// rehearseUpdate shows the plan and writes nothing.
func rehearseUpdate(ctx context.Context, e *term.Env, code string, u *updating) error {
	return e.ReadStore(ctx, func(app *daemon.App) error {
		p, err := u.prepareUpdate(ctx, app, code)
		if err != nil {
			return err
		}
		draft, err := app.Planner.Draft(ctx, p.compiled, p.planRequest())
		if err != nil {
			return err
		}
		if u.namesRecords() {
			return rehearseNames(ctx, e, app, u, p)
		}
		if e.Output == "json" {
			return e.JSON(draft)
		}
		return printDraft(e, draft)
	})
}

// namedPreview is what an update of named records would take.
type namedPreview struct {
	ingest.SignalsAdded
	Requests int  `json:"requests"`
	DryRun   bool `json:"dryRun"`
}

// rehearseNames says what would be asked for: the signals themselves are not
// written, so there is no plan to draw.
func rehearseNames(ctx context.Context, e *term.Env, app *daemon.App, u *updating, p prepared) error {
	u.signing.Dry = true
	if u.signing.Reason == "" {
		u.signing.Reason = "rehearsed"
	}
	added, err := addSignals(ctx, e, app, u, p.compiled.Snapshot)
	if err != nil {
		return err
	}
	size := max(p.compiled.Snapshot.Details.BatchSize, 1)
	preview := namedPreview{added, (added.Added + added.Known + size - 1) / size, true}
	err = term.PrintFacts(e, preview, []term.Fact{
		{"records", fmt.Sprintf("%d named, of these %d by an open signal already", added.Added+added.Known, added.Known)},
		{"requests", fmt.Sprintf("about %d, %d ids in each", preview.Requests, size)},
	})
	e.HintDryRun(true)
	return err
}

// addSignals makes the signals an update is told of.
func addSignals(ctx context.Context, e *term.Env, app *daemon.App, u *updating, of spec.Snapshot) (ingest.SignalsAdded, error) {
	if u.quarantined {
		return app.Operator.SignalQuarantined(ctx, of, u.signing.Act())
	}
	ids, err := readIDs(u.ids)
	if err != nil {
		return ingest.SignalsAdded{}, err
	}
	return app.Operator.Signal(ctx, of, refresh.Requested, ids, u.signing.Act())
}

// readIDs reads a file of ids, one a line. Empty lines and lines that begin with #
// say nothing; the same id twice is one.
func readIDs(name string) (ids []string, err error) {
	in := io.Reader(os.Stdin)
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, term.Usagef("--ids: %w", err)
		}
		defer file.Close()
		in = file
	}
	seen := map[string]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		id := strings.TrimSpace(lines.Text())
		if id == "" || strings.HasPrefix(id, "#") || seen[id] {
			continue
		}
		seen[id] = true
		ids = append(ids, id)
	}
	if err := lines.Err(); err != nil {
		return nil, term.Usagef("--ids %s: %w", name, err)
	}
	if len(ids) == 0 {
		return nil, term.Usagef("--ids %s: there is no id in it", name)
	}
	return ids, nil
}

func printUpdate(e *term.Env, s Summary) error {
	if e.Output == "json" {
		return e.JSON(s)
	}
	if s.Empty {
		_, err := fmt.Fprintf(e.Out, "%s: nothing to do: %s\n", s.Source, s.Reason)
		return err
	}
	t, r := s.Stats, s.Stats.Refresh
	facts := []term.Fact{
		{"window", wording.OrDash(s.Window)},
		{"slices", s.sliceOutcomes("done")},
		{"looked at", fmt.Sprintf("%d records upstream, %d mapped anew from kept answers", r.Checked, r.Remapped)},
		{"records", fmt.Sprintf("%d updated, %d unchanged, %d new, %d gone (%d of them merged), %d quarantined", t.Updated, t.Unchanged, t.Inserted, t.Gone, r.Merged, t.Quarantined) + knownRejects(t.BatchStats)},
		{"requests", fmt.Sprintf("%d, of these %d retries, %d times told to slow down", t.Requests, t.Retries, t.Throttled)},
	}
	if m := t.Missed; m.Total() > 0 {
		facts = slices.Insert(facts, 4, term.Fact{"missing", fmt.Sprintf("%d stored, not taken for deleted yet; %d never stored; %d gone before and still gone", m.Missing, m.NotFound, m.StillGone)})
	}
	return term.PrintFacts(e, s, append(facts, s.whyFacts()...))
}

// updateVerdict makes an honest exit code. Rejected are the items that somebody has to
// hear of.
func (s Summary) updateVerdict(rejected int) error {
	switch v := s.result().UpdateVerdict(rejected); v.Code {
	case view.OneCause:
		return s.onlyCause(*v.Failure)
	case view.NotCovered:
		return term.Partialf("%s not done; the next update re-checks these records: patra task list --source %s --status FAILED", wording.CountAre(v.Count, "slice"), s.Source)
	case view.StillWaiting:
		return term.Partialf("%s failed before and is still owed: it waits for its retry time, and an update after that reads it again", waitingWindows(v.Windows))
	case view.RecordsLeft:
		return term.Partialf("%d records are still as they were: their answers are not kept any more, and %s cannot be asked for ids; "+
			"read that time again: patra update %s --from … --to …", v.Count, s.Source, s.Source)
	case view.ItemsRejected:
		return term.Partialf("%d answers could not be used and are in quarantine with their reason; their records stay as they were", v.Count)
	}
	return nil
}

// tellMissing says what happens to records that did not come.
func tellMissing(ctx context.Context, e *term.Env, app *daemon.App, s Summary, endpoint string) error {
	if s.Stats.Missed.Missing == 0 {
		return nil
	}
	all, err := app.Records.CountMissing(ctx, s.Source)
	for _, m := range all {
		if m.Endpoint == endpoint {
			e.Hint("the upstream did not have %s; nothing is deleted for that. Records that are still missing a day later are marked as gone: after %s run `patra update %s --signals`, or leave it to a scheduled update",
				wording.Count(s.Stats.Missed.Missing, "stored record"), wording.MinuteText(m.LooksAt), s.Source)
		}
	}
	return err
}

// fewIDs are named in a message.
const fewIDs = 5

// unknownIDs is the verdict on ids that are neither stored nor known upstream, by
// name where this update named them.
func unknownIDs(ctx context.Context, e *term.Env, app *daemon.App, s Summary, of daemon.Refresh) error {
	n := s.Stats.Missed.NotFound
	if n == 0 {
		return nil
	}
	signals, err := app.Records.ListSignals(ctx, view.Filter{Source: s.Source, Status: string(refresh.NotFound), Limit: 1000})
	if err != nil {
		return err
	}
	var ids []string
	for _, signal := range signals {
		if signal.ID >= of.From && signal.ID < of.To {
			ids = append(ids, signal.ProviderID)
		}
	}
	slices.Reverse(ids) // newest first
	named := ""
	if len(ids) > 0 {
		named = " (" + strings.Join(ids[:min(fewIDs, len(ids))], ", ")
		if len(ids) > fewIDs {
			named += ", …"
		}
		named += ")"
	}
	return term.NotFoundf("%d of the ids that were asked for %s not found%s: %s does not have them, and they were never stored; look for a typing error: patra signal list --source %s --status NOT_FOUND",
		n, wording.IsAre(int64(n)), named, s.Source, s.Source)
}

// rangeNoun is what the bounds of a range are about.
func rangeNoun(g *slicing.Range) string {
	if g.Kind == slicing.Number {
		return strings.ReplaceAll(g.Key, "_id", "") + " numbers"
	}
	return "ids with a hash"
}
