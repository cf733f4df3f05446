package admin

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func NewAudit(e *term.Env) *cobra.Command {
	return term.NewGroup("audit", "Look at what operators did, and verify that the log was not changed", newAuditList(e), newAuditVerify(e))
}

func newAuditList(e *term.Env) *cobra.Command {
	l := term.Lister[audit.Entry]{
		Noun:    "entries",
		Columns: entryColumns(),
		ID:      func(v audit.Entry) int64 { return v.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]audit.Entry, error) {
			rows, err := app.History.ListActs(ctx, f)
			return readableDetail(rows), err
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List what operators did, newest first",
		Long: `List what operators did, newest first: who, when, what, why. With -o json each
entry has its detail, its hash and the hash of the entry before it.`,
		Example: `  patra audit list
  patra audit list --limit 5 -o json`,
	})
	return c
}

func entryColumns() term.Columns[audit.Entry] {
	return term.NewColumns([]string{"id", "at", "actor", "action", "object", "reason"}, func(v audit.Entry) []any {
		return []any{v.ID, v.At, wording.Shorten(v.Actor, 20), v.Action, wording.Shorten(v.Object, 40), wording.OrDash(wording.Shorten(v.Reason, 50))}
	})
}

// readableDetail keeps an entry that somebody changed from hiding all others.
func readableDetail(rows []audit.Entry) []audit.Entry {
	for i := range rows {
		if len(rows[i].Detail) > 0 && !json.Valid(rows[i].Detail) {
			rows[i].Detail, _ = json.Marshal(string(rows[i].Detail)) // a text always encodes
		}
	}
	return rows
}

var headHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

func newAuditVerify(e *term.Env) *cobra.Command {
	var heads []string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Verify that no entry of the audit log was changed, taken out or cut off",
		Long: `Verify the audit log. Every entry holds the hash of the one before it, so an entry
that was changed or removed is detected.

If only the newest entries were cut off, that is detected only by comparing with a
hash kept elsewhere. Archives keep one, and ` + "`patra serve`" + ` logs the newest hash
whenever it changes (audit log … head=…). Pass such a hash with --head.

An archive that is missing, was changed since it was sealed, or holds no head is a
problem too: it cannot vouch for the log.

Exit code 9 if anything is wrong. Nothing is repaired.`,
		Example: `  patra audit verify
  patra audit verify --head 0000000000000000000000000000000000000000000000000000000000000000
  patra audit verify -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var noted []audit.Noted
			for _, hash := range heads {
				if hash = strings.ToLower(strings.TrimSpace(hash)); !headHash.MatchString(hash) {
					return term.Usagef("--head: expected a hash of 64 hexadecimal digits")
				}
				noted = append(noted, audit.Noted{Hash: hash, Where: "--head"})
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error { return verifyAudit(e, cmd, app, noted) })
		},
	}
	c.Flags().StringSliceVar(&heads, "head", nil, "hash of an entry that must be there; may be given several times")
	term.ArchiveDirFlag(c, &e.ArchiveDir)
	return c
}

func verifyAudit(e *term.Env, cmd *cobra.Command, app *daemon.App, noted []audit.Noted) error {
	r, err := app.VerifyAudit(cmd.Context(), noted...)
	if err != nil {
		return err
	}
	if err := term.PrintFacts(e, r, []term.Fact{{"entries", r.Entries}, {"head", r.Head}, {"noted elsewhere", r.Noted}, {"problems", len(r.Findings)}}); err != nil {
		return err
	}
	if r.Unasked > 0 {
		e.Hint("the heads in %s were not compared, because no folder of archives is known: name it with --archive-dir or PATRA_ARCHIVE_DIR", wording.Count(r.Unasked, "archive"))
	}
	if len(r.Findings) == 0 {
		return nil
	}
	if e.Output == "table" {
		if err := term.PrintList(e, r.Findings, term.NewColumns([]string{"problem", "entry", "what"}, func(f audit.Finding) []any {
			entry := any("-")
			if f.ID > 0 {
				entry = f.ID
			}
			return []any{f.Problem, entry, f.Text}
		})); err != nil {
			return err
		}
	}
	if !r.Tampered() {
		return term.Findingsf("%s cannot vouch for the audit log; the entries of the log itself fit one another: `patra db archive check` tells which files are not as they were sealed", wording.Count(len(r.Findings), "archive"))
	}
	return term.Findingsf("the audit log was tampered with: %d problems", len(r.Findings))
}
