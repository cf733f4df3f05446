package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newDBCheck(e *term.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the whole database for damage; exit code 9 on findings",
		Long: `Check the whole database, in this order: its own structure (by the database
itself), every version of every record against its checksum, records against their
versions, what batches counted against what is there, totals of runs against the
sums of their batches, items of quarantine against their hashes, and watermarks
against their ledgers.

Every kind of damage comes with what to do about it. Nothing is repaired. It reads
in short steps, so processes may go on meanwhile. When it ended is noted: patra
status has a finding when the last check is too old or found something.`,
		Example: `  patra db check
  patra db check -o json
  patra db check --db mysql://patra@db.example.org:3306/patra`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return openUpkeep(cmd.Context(), e, false, func(_ *daemon.App, service *daemon.Upkeep) error {
				return checkDatabase(cmd.Context(), e, service)
			})
		},
	}
}

// checkReport is a check with what to do about what it found.
type checkReport struct {
	integrity.Report
	Next map[integrity.Kind]string `json:"next"`
}

func checkDatabase(ctx context.Context, e *term.Env, service *daemon.Upkeep) error {
	found, err := service.CheckDatabase(ctx, checkProgress(e))
	if err != nil {
		return err
	}
	r := checkReport{found, map[integrity.Kind]string{}}
	if r.Damages == nil {
		r.Damages = []integrity.Damage{}
	}
	for kind := range r.Found {
		r.Next[kind] = kind.Next()
	}
	if e.Output == "json" {
		if err := e.JSON(r); err != nil {
			return err
		}
	} else if err := showCheck(e, r); err != nil {
		return err
	}
	if n := r.Total(); n > 0 {
		return term.Findingsf("the database is damaged: %s", wording.Count(int(n), "problem"))
	}
	return nil
}

func showCheck(e *term.Env, r checkReport) error {
	if err := term.PrintFacts(e, r, []term.Fact{
		{"versions", r.Versions}, {"records", r.Records}, {"batches", r.Batches}, {"runs", r.Runs}, {"quarantined", r.Rejects}, {"watermarks", r.Cursors},
		{"without checksum", r.Unsealed}, {"problems", r.Total()}, {"took", r.FinishedAt.Sub(r.StartedAt).Round(time.Second).String()},
	}); err != nil {
		return err
	}
	var out strings.Builder
	for _, d := range r.Damages {
		out.WriteString(term.IndentLines(term.Printable(fmt.Sprintf("! %s %s: %s", d.Kind, d.Where, d.Text)), 80))
	}
	if more := r.Total() - int64(len(r.Damages)); more > 0 {
		fmt.Fprintf(&out, "! and %d more\n", more)
	}
	kinds := make([]integrity.Kind, 0, len(r.Next))
	for kind := range r.Next {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		out.WriteString(term.IndentLines(fmt.Sprintf("next %s (%d): %s", kind, r.Found[kind], r.Next[kind]), 80))
	}
	if _, err := fmt.Fprint(e.Out, out.String()); err != nil {
		return err
	}
	if r.Unsealed > 0 {
		e.Hint("%d versions were stored before there were checksums; harvests and `patra serve` give them theirs in the background", r.Unsealed)
	}
	if r.Uncounted {
		e.Hint("versions were removed by retention, so batches were not compared with the versions they stored")
	}
	return nil
}

// checkProgress tells now and then how far a check has come.
func checkProgress(e *term.Env) func(daemon.CheckProgress) {
	last := time.Now()
	return func(p daemon.CheckProgress) {
		if now := time.Now(); now.Sub(last) >= term.PlainEvery {
			last = now
			e.Hint("checking %s: %d looked at, %s so far", p.Step, p.Looked, wording.Count(int(p.Found), "problem"))
		}
	}
}
