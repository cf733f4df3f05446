package ledger

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// replaying are the flags of replay.
type replaying struct {
	from, spec, seal string
	set              []string
	refresh          bool
}

func newBatchReplay(e *term.Env) *cobra.Command {
	var r replaying
	c := &cobra.Command{
		Use:   "replay RUN/BATCH|ID|BUNDLE",
		Short: "Do a batch again without writing, and report what differs",
		Long: `Do a batch again: restore the snapshot it ran under, render its request, read the
answer that was kept, decide about every item, and compare with what the ledger says.
Nothing is written and nothing is published.

--from raw reads the kept body and needs no network. --from upstream asks the source
again, through the rate gate, and compares the two answers. --spec now reads under
the source as it is declared now, --spec FILE under a source file; a difference then
comes from our settings. Give overrides of the harvest again with --set.

A bundle of ` + "`patra batch export`" + ` is replayed from its own body, on any machine
and without a database. One that expired, or of which anything was changed, is
refused.

Exit code 0: identical. 9: something differs. 5: the body is gone. 6: the bundle is
refused.`,
		Example: `  patra batch replay 4/12
  patra batch replay 4/12 --from upstream
  patra batch replay 4/12 --from upstream --refresh-expired
  patra batch replay 4711 --spec now -o json
  patra batch replay 4711 --spec mine.yaml
  patra batch replay batch-4-12.zip --seal 5f0c…`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := r.checkFlags(); err != nil {
				return err
			}
			report, err := r.replayBatch(cmd.Context(), e, args[0])
			if err != nil {
				return err
			}
			return showReplay(e, report)
		},
	}
	f := c.Flags()
	f.StringVar(&r.from, "from", daemon.ReplayRaw, "raw: the kept body; upstream: ask the source again")
	f.StringVar(&r.spec, "spec", "then", "then: the snapshot of the batch; now: the source as declared now; or a source file")
	f.StringArrayVar(&r.set, "set", nil, "with --spec now or a file: override a setting, such as contact.email=you@example.org")
	f.BoolVar(&r.refresh, "refresh-expired", false, "with --from upstream: if the token of the page has expired, walk there from the first page")
	f.StringVar(&r.seal, "seal", "", "of a bundle: the seal that its exporter told you")
	term.RawDirFlag(c, &e.RawDir)
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

func (r replaying) checkFlags() error {
	switch {
	case r.from != daemon.ReplayRaw && r.from != daemon.ReplayUpstream:
		return term.Usagef("--from %s: expected raw or upstream", r.from)
	case r.spec != "then" && r.spec != "now" && !subject.IsFile(r.spec):
		return term.Usagef("--spec %s: expected then, now or a source file", r.spec)
	case r.spec == "then" && len(r.set) > 0:
		return term.Usagef("--set changes the source as it is now: say --spec now as well")
	case r.refresh && r.from != daemon.ReplayUpstream:
		return term.Usagef("--refresh-expired asks the upstream: say --from upstream as well")
	}
	return nil
}

// isBundle tells a bundle from a batch: RUN/BATCH and ids are made of digits.
func isBundle(arg string) bool {
	if strings.Trim(arg, "0123456789/") == "" {
		return false
	}
	_, err := os.Stat(arg)
	return err == nil || strings.HasSuffix(arg, ".zip")
}

func (r replaying) replayBatch(ctx context.Context, e *term.Env, arg string) (report *blackbox.Report, err error) {
	if isBundle(arg) {
		return r.replayBundle(ctx, e, arg)
	}
	if r.seal != "" {
		return nil, term.Usagef("--seal is for a bundle, and %s is none", arg)
	}
	ref, err := parseBatch(arg)
	if err != nil {
		return nil, err
	}
	err = e.ReadStore(ctx, func(app *daemon.App) error {
		o := daemon.ReplayOptions{From: r.from, Refresh: r.refresh, At: time.Now()}
		if r.spec != "then" {
			of, err := app.Replays.FindAim(ctx, ref)
			if err != nil {
				return err
			}
			if o.Now, err = r.compileDeclared(ctx, app, of); err != nil {
				return err
			}
		}
		report, err = app.Replays.Replay(ctx, ref, o)
		return err
	})
	return report, err
}

func (r replaying) replayBundle(ctx context.Context, e *term.Env, path string) (*blackbox.Report, error) {
	if r.from == daemon.ReplayUpstream {
		return nil, term.Usagef("a bundle is replayed from its own body: the host that it names is never asked")
	}
	b, err := daemon.OpenBundle(path, r.seal, time.Now())
	if err != nil {
		return nil, err
	}
	if r.seal == "" {
		e.Hint("the parts fit the manifest; add --seal to be sure that the manifest is the exporter's")
	}
	o := daemon.ReplayOptions{From: r.from, At: time.Now()}
	if r.spec != "then" {
		err = e.ReadRegistry(ctx, func(app *daemon.App) error {
			o.Now, err = r.compileDeclared(ctx, app, b.Partition)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return b.Replay(ctx, o)
}

// compileDeclared is the source as it is declared now, or in a file.
func (r replaying) compileDeclared(ctx context.Context, app *daemon.App, of ingest.Partition) (*spec.Snapshot, error) {
	var s subject.Subject
	var err error
	if subject.IsFile(r.spec) {
		file, problems := subject.CheckFile(r.spec)
		s, err = subject.Subject{Parsed: file.Parsed, Origin: view.OriginFile}, subject.ProblemsError(problems)
	} else {
		s, err = subject.FindStored(ctx, app, of.Source)
	}
	if err != nil {
		return nil, err
	}
	if s.Parsed.Code != of.Source {
		return nil, term.Usagef("--spec %s: declares the source %s, the batch is of %s", r.spec, s.Parsed.Code, of.Source)
	}
	to, err := subject.Selection{Endpoint: of.Endpoint, Operation: string(of.Operation), Set: r.set}.Compile(s)
	if err != nil {
		return nil, err
	}
	return &to.Compiled.Snapshot, nil
}

func showReplay(e *term.Env, r *blackbox.Report) error {
	if err := term.PrintFacts(e, r, replayFacts(r)); err != nil {
		return err
	}
	if e.Output == "table" {
		showDifferences(e, r)
	}
	for _, note := range r.Notes {
		e.Hint("note: %s", note)
	}
	if r.Identical {
		return nil
	}
	added, changed, missing := r.Count()
	return term.Findingsf("the batch is not as it was (%s); differences: %d; records: %d added, %d changed, %d missing",
		wording.BlameText(r), len(r.Differences), added, changed, missing)
}

func replayFacts(r *blackbox.Report) []term.Fact {
	verdict := "identical"
	if !r.Identical {
		verdict = "differs: " + wording.BlameText(r)
	}
	facts := []term.Fact{
		{"batch", fmt.Sprintf("%d (run %d, batch %d), %s %s %s", r.Keys.BatchID, r.Keys.RunID, r.Keys.BatchNo, r.Source, r.Endpoint, r.Operation)},
		{"verdict", verdict},
		{"answer", fmt.Sprintf("from %s, HTTP %d, sha256 %s", r.From, r.Status, r.BodySHA256)},
		{"read under", r.Spec + " " + r.Keys.SpecFingerprint},
	}
	if r.SpecNow != "" {
		facts[3][1] = r.Spec + " " + r.SpecNow
	}
	if r.Bundle != nil {
		facts = append(facts, term.Fact{"bundle", fmt.Sprintf("of %s by %s: %s; until %s", wording.SecondText(r.Bundle.CreatedAt), r.Bundle.Actor, r.Bundle.Reason, wording.SecondText(r.Bundle.ExpiresAt))})
	}
	if r.Request != nil {
		facts = append(facts, term.Fact{"request", wording.Shorten(r.Request.Method+" "+r.Request.URL, 200)})
	}
	return append(facts, term.Fact{"items", fmt.Sprintf("%d seen, %s", r.Seen, decisionsText(r))}, term.Fact{"next", wording.Shorten(wording.OrDash(r.Next), tokenWidth)})
}

func decisionsText(r *blackbox.Report) string {
	if len(r.Decisions) == 0 {
		return "nothing to decide"
	}
	var parts []string
	for _, action := range toldActions() {
		if n := r.Decisions[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	return "decided anew: " + strings.Join(parts, ", ")
}
