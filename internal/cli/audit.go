package cli

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newAudit(e *env) *cobra.Command {
	return group("audit", "Look at what operators did, and verify that nobody changed it", newAuditList(e), newAuditVerify(e))
}

func newAuditList(e *env) *cobra.Command {
	f := &filter{}
	c := &cobra.Command{
		Use:   "list",
		Short: "List what operators did, newest first",
		Long: `List what operators did, newest first: who, when, what, why. With -o json each
entry has its detail, its hash and the hash of the entry before it.`,
		Example: `  patra audit list
  patra audit list --limit 5 -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error {
				rows, err := app.History.ListActs(cmd.Context(), f.ahead())
				if err != nil {
					return err
				}
				return listPage(e, page(e, "entries", readableDetail(rows), f.Limit, func(v audit.Entry) int64 { return v.ID }), newColumns(
					[]string{"id", "at", "actor", "action", "object", "reason"},
					func(v audit.Entry) []any {
						return []any{v.ID, v.At, short(v.Actor, 20), v.Action, short(v.Object, 40), dash(short(v.Reason, 50))}
					}))
			})
		},
	}
	c.Flags().Int64Var(&f.Before, "before", 0, "only ids below this one: the next page")
	c.Flags().IntVar(&f.Limit, "limit", pageSize, "how many to list, newest first")
	return c
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

func newAuditVerify(e *env) *cobra.Command {
	var heads []string
	c := &cobra.Command{
		Use:   "verify",
		Short: "Verify that no entry of the audit log was changed, taken out or cut off",
		Long: `Verify the audit log. Every entry holds the hash of the one before it, so one
that was changed or taken out shows.

That the newest entries were cut off shows only where their hash is known from
elsewhere. Archives hold it, and the log of ` + "`patra serve`" + ` tells it each time it
moves (audit log … head=…). Give such a hash to --head.

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
					return usagef("--head: expected a hash of 64 hexadecimal digits")
				}
				noted = append(noted, audit.Noted{Hash: hash, Where: "--head"})
			}
			return e.ledger(cmd.Context(), func(app *daemon.App) error { return e.verifyAudit(cmd, app, noted) })
		},
	}
	c.Flags().StringSliceVar(&heads, "head", nil, "hash of an entry that must be there; may be given several times")
	archiveDirFlag(c, &e.archiveDir)
	return c
}

func (e *env) verifyAudit(cmd *cobra.Command, app *daemon.App, noted []audit.Noted) error {
	r, err := app.VerifyAudit(cmd.Context(), noted...)
	if err != nil {
		return err
	}
	if err := show(e, r, []fact{{"entries", r.Entries}, {"head", r.Head}, {"noted elsewhere", r.Noted}, {"problems", len(r.Findings)}}); err != nil {
		return err
	}
	if r.Unasked > 0 {
		e.hint("the heads in %s were not compared, because no folder of archives is known: name it with --archive-dir or PATRA_ARCHIVE_DIR", counted(r.Unasked, "archive"))
	}
	if len(r.Findings) == 0 {
		return nil
	}
	if e.output == "table" {
		if err := list(e, r.Findings, newColumns([]string{"problem", "entry", "what"}, func(f audit.Finding) []any {
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
		return findings("%s cannot vouch for the audit log; the log itself fits: `patra db archive check` tells which files are not as they were sealed", counted(len(r.Findings), "archive"))
	}
	return findings("the audit log was tampered with: %d problems", len(r.Findings))
}
