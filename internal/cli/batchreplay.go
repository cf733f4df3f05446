package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
)

// replaying are the flags of replay.
type replaying struct {
	from, spec, seal string
	set              []string
	refresh          bool
}

func newBatchReplay(e *env) *cobra.Command {
	var r replaying
	c := &cobra.Command{
		Use:   "replay RUN/BATCH|ID|BUNDLE",
		Short: "Do a batch again without writing, and report what differs",
		Long: `Do a batch again: restore the snapshot it ran under, render its request, read the
answer that was kept, decide about every item, and compare with what the ledger says.
Nothing is written and nothing is published.

--from raw reads the kept body and needs no network. --from upstream asks the source
again, through the rate gate, and compares the two answers. --spec now reads under
the source as it is declared now, --spec FILE under a source file; what differs then
is ours. Overrides of the harvest are given again with --set.

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
			if err := r.check(); err != nil {
				return err
			}
			report, err := r.replay(cmd.Context(), e, args[0])
			if err != nil {
				return err
			}
			return e.showReplay(report)
		},
	}
	f := c.Flags()
	f.StringVar(&r.from, "from", daemon.ReplayRaw, "raw: the kept body; upstream: ask the source again")
	f.StringVar(&r.spec, "spec", "then", "then: the snapshot of the batch; now: the source as declared now; or a source file")
	f.StringArrayVar(&r.set, "set", nil, "with --spec now or a file: override a setting, such as contact.email=you@example.org")
	f.BoolVar(&r.refresh, "refresh-expired", false, "with --from upstream: where the token of the page is dead, walk there from the first page")
	f.StringVar(&r.seal, "seal", "", "of a bundle: the seal that its exporter told you")
	rawDirFlag(c, &e.rawDir)
	archiveDirFlag(c, &e.archiveDir)
	return c
}

func (r replaying) check() error {
	switch {
	case r.from != daemon.ReplayRaw && r.from != daemon.ReplayUpstream:
		return usagef("--from %s: expected raw or upstream", r.from)
	case r.spec != "then" && r.spec != "now" && !isFile(r.spec):
		return usagef("--spec %s: expected then, now or a source file", r.spec)
	case r.spec == "then" && len(r.set) > 0:
		return usagef("--set changes the source as it is now: say --spec now as well")
	case r.refresh && r.from != daemon.ReplayUpstream:
		return usagef("--refresh-expired asks the upstream: say --from upstream as well")
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

func (r replaying) replay(ctx context.Context, e *env, arg string) (report *blackbox.Report, err error) {
	if isBundle(arg) {
		return r.bundle(ctx, e, arg)
	}
	if r.seal != "" {
		return nil, usagef("--seal is for a bundle, and %s is none", arg)
	}
	ref, err := parseBatch(arg)
	if err != nil {
		return nil, err
	}
	err = e.ledger(ctx, func(app *daemon.App) error {
		o := daemon.ReplayOptions{From: r.from, Refresh: r.refresh, At: time.Now()}
		if r.spec != "then" {
			of, err := app.Replays.FindAim(ctx, ref)
			if err != nil {
				return err
			}
			if o.Now, err = r.declared(ctx, app, of); err != nil {
				return err
			}
		}
		report, err = app.Replays.Replay(ctx, ref, o)
		return err
	})
	return report, err
}

func (r replaying) bundle(ctx context.Context, e *env, path string) (*blackbox.Report, error) {
	if r.from == daemon.ReplayUpstream {
		return nil, usagef("a bundle is replayed from its own body: the host that it names is never asked")
	}
	b, err := daemon.OpenBundle(path, r.seal, time.Now())
	if err != nil {
		return nil, err
	}
	if r.seal == "" {
		e.hint("the parts fit the manifest; add --seal to be sure that the manifest is the exporter's")
	}
	o := daemon.ReplayOptions{From: r.from, At: time.Now()}
	if r.spec != "then" {
		err = e.registry(ctx, func(app *daemon.App) error {
			o.Now, err = r.declared(ctx, app, b.Partition)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return b.Replay(ctx, o)
}

// declared is the source as it is declared now, or in a file.
func (r replaying) declared(ctx context.Context, app *daemon.App, of ingest.Partition) (*spec.Snapshot, error) {
	var s subject
	var err error
	if isFile(r.spec) {
		file, problems := checkFile(r.spec)
		s, err = subject{src: file.src, origin: originFile}, refuse(problems)
	} else {
		s, err = subjectOf(ctx, app, of.Source)
	}
	if err != nil {
		return nil, err
	}
	if s.src.Code != of.Source {
		return nil, usagef("--spec %s: declares the source %s, the batch is of %s", r.spec, s.src.Code, of.Source)
	}
	to, err := aim{of.Endpoint, string(of.Operation), r.set}.at(s)
	if err != nil {
		return nil, err
	}
	return &to.compiled.Snapshot, nil
}

func (e *env) showReplay(r *blackbox.Report) error {
	if err := show(e, r, replayFacts(r)); err != nil {
		return err
	}
	if e.output == "table" {
		e.showDifferences(r)
	}
	for _, note := range r.Notes {
		e.hint("note: %s", note)
	}
	if r.Identical {
		return nil
	}
	added, changed, missing := r.Count()
	return findings("the batch is not as it was (%s); differences: %d; records: %d added, %d changed, %d missing",
		blamed(r), len(r.Differences), added, changed, missing)
}

func blamed(r *blackbox.Report) string {
	switch {
	case r.Blames(blackbox.Source) && r.Blames(blackbox.Ours):
		return "the upstream and our side changed"
	case r.Blames(blackbox.Source):
		return "the upstream changed"
	}
	return "our side changed"
}

func replayFacts(r *blackbox.Report) []fact {
	verdict := "identical"
	if !r.Identical {
		verdict = "differs: " + blamed(r)
	}
	facts := []fact{
		{"batch", fmt.Sprintf("%d (run %d, batch %d), %s %s %s", r.Keys.BatchID, r.Keys.RunID, r.Keys.BatchNo, r.Source, r.Endpoint, r.Operation)},
		{"verdict", verdict},
		{"answer", fmt.Sprintf("from %s, HTTP %d, sha256 %s", r.From, r.Status, r.BodySHA256)},
		{"read under", r.Spec + " " + r.Keys.SpecFingerprint},
	}
	if r.SpecNow != "" {
		facts[3][1] = r.Spec + " " + r.SpecNow
	}
	if r.Bundle != nil {
		facts = append(facts, fact{"bundle", fmt.Sprintf("of %s by %s: %s; until %s", when(r.Bundle.CreatedAt), r.Bundle.Actor, r.Bundle.Reason, when(r.Bundle.ExpiresAt))})
	}
	if r.Request != nil {
		facts = append(facts, fact{"request", short(r.Request.Method+" "+r.Request.URL, 200)})
	}
	return append(facts, fact{"items", fmt.Sprintf("%d seen, %s", r.Seen, decided(r))}, fact{"next", short(dash(r.Next), tokenWidth)})
}

func decided(r *blackbox.Report) string {
	if len(r.Decisions) == 0 {
		return "nothing to decide"
	}
	var parts []string
	for _, action := range actions() {
		if n := r.Decisions[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, action))
		}
	}
	return "decided anew: " + strings.Join(parts, ", ")
}
