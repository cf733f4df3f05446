package consent

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// ConsentFlags are the flags of commands that agree to something.
type ConsentFlags struct {
	term.Confirming
	revoke bool
}

func (t *ConsentFlags) Add(c *cobra.Command) {
	t.Confirming.Flags(c)
	c.Flags().BoolVar(&t.revoke, "revoke", false, "take the consent back")
}

func NewSourceTrust(e *term.Env) *cobra.Command {
	var t ConsentFlags
	c := &cobra.Command{
		Use:   "trust [SRC|FILE|REFERENCE] [HOST]",
		Short: "Agree that a source uses secrets of this machine, or list what was agreed to",
		Long: `Show what a source wants of this machine, and agree to it: which variable, file or
output of a command it sends to which host, and records of which other source
(records:SOURCE/ENDPOINT). A source file may come from anybody, so the first use of
each pair of reference and host stops with exit code 4 until a person agrees.
Bundled sources may send their keys to their own hosts.

Without an argument, list what was agreed to. With a reference and a host, agree to
that pair. To take consent back, give the same arguments with --revoke.

Consent is not kept in anything that a stranger can hand you. For a SQLite database
it is in a file of your own (trust.jsonl beside your patra.yaml, readable by you
alone); for a database server it is in its tables. Both leave an entry in the audit
log (patra audit list). A command of exec: must also be listed in patra.yaml under
trust.commands, and a file must be below a folder of trust.folders; this command does
not change patra.yaml.

On a terminal you are asked before anything is kept; elsewhere --yes is needed.`,
		Example: `  patra source trust
  patra source trust mine
  patra source trust mine.yaml --yes --reason ours
  patra source trust env:MINE_API_KEY api.example.org --yes
  patra source trust records:crossref/works api.example.org --yes
  patra source trust mine --revoke`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return e.WithRecordedConsent(cmd.Context(), func(g *daemon.Guard) error { return listConsents(cmd.Context(), e, g) })
			}
			uses, err := usesNamed(cmd.Context(), e, args)
			if err != nil {
				return err
			}
			return Trust(cmd.Context(), e, t, uses)
		},
	}
	t.Add(c)
	return c
}

// usesNamed are those of a source, of a file, or one that is spelled out.
func usesNamed(ctx context.Context, e *term.Env, args []string) ([]trust.Use, error) {
	if len(args) == 2 {
		var ref trust.Ref
		if err := ref.UnmarshalText([]byte(args[0])); err != nil {
			return nil, term.Usagef("%w", err)
		}
		return []trust.Use{{Ref: ref, Host: trust.HostNamed(args[1])}}, nil
	}
	s, err := subject.Find(ctx, e, args[0])
	if err != nil {
		return nil, err
	}
	return daemon.Uses(s.Parsed), nil
}

// wanted is one use and how it stands.
type wanted struct {
	Reference string    `json:"reference"`
	Host      string    `json:"host"`
	State     string    `json:"state"`
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
	Reason    string    `json:"reason,omitempty"`
}

// States of a use.
const (
	StateAgreed  = "agreed to"
	StateAgree   = "will be agreed to"
	stateRevoked = "will be taken back"
	stateNone    = "not agreed to"
	StateListed  = "patra.yaml must list it first"
)

func wantedColumns() term.Columns[wanted] {
	return term.NewColumns([]string{"reference", "host", "state", "by", "at"}, func(w wanted) []any {
		return []any{w.Reference, w.Host, w.State, wording.OrDash(w.By), w.At}
	})
}

func listConsents(ctx context.Context, e *term.Env, g *daemon.Guard) error {
	consents, err := g.Consents(ctx)
	if err != nil {
		return err
	}
	rows := []wanted{}
	for _, c := range consents {
		rows = append(rows, wanted{c.Ref.String(), c.Host, StateAgreed, c.Actor, c.At, c.Reason})
	}
	for host, refs := range e.Installed.Trust.Secrets {
		for _, ref := range refs {
			rows = append(rows, wanted{ref.String(), host, StateAgreed, e.Installed.File, time.Time{}, ""})
		}
	}
	slices.SortFunc(rows, func(a, b wanted) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Reference, b.Reference), cmp.Compare(a.By, b.By))
	})
	e.Hint("kept in %s", g.Kept())
	return term.PrintList(e, rows, wantedColumns())
}

// Trust shows what would be agreed to and does it if somebody says yes.
func Trust(ctx context.Context, e *term.Env, t ConsentFlags, uses []trust.Use) error {
	return e.WithRecordedConsent(ctx, func(g *daemon.Guard) error {
		change, rows, err := t.findChanges(ctx, g, uses)
		if err != nil {
			return err
		}
		var unlisted []trust.Refusal
		if !t.revoke {
			if change, unlisted, err = withoutUnlisted(ctx, g, uses, change, rows); err != nil {
				return err
			}
		}
		do := func(dry bool) ([]wanted, error) {
			by := t.Act()
			by.Rehearsal = dry
			if t.revoke {
				return rows, g.Withdraw(ctx, change, by)
			}
			return rows, g.Agree(ctx, change, by)
		}
		err = term.RehearseAndDo(e, t.Confirming, do, func([]wanted) bool { return len(change) > 0 }, func(rows []wanted) error { return term.PrintList(e, rows, wantedColumns()) })
		if err != nil {
			return err
		}
		if t.revoke || len(unlisted) == 0 {
			return nil
		}
		return term.WithCode(term.ExitAuth, trust.Unlisted(unlisted, e.Installed.ConfigFile()))
	})
}

// withoutUnlisted takes out what this machine refuses whoever agrees to it: to promise
// consent would send a person round in a circle.
func withoutUnlisted(ctx context.Context, g *daemon.Guard, uses, change []trust.Use, rows []wanted) (left []trust.Use, unlisted []trust.Refusal, err error) {
	unlisted, err = g.Refused(ctx, uses)
	if err != nil {
		return nil, nil, err
	}
	unlisted = slices.DeleteFunc(unlisted, func(r trust.Refusal) bool { return r.Why == trust.NotAgreed })
	isListed := func(u trust.Use) bool {
		return !slices.ContainsFunc(unlisted, func(r trust.Refusal) bool { return r.Use == u })
	}
	for i, u := range uses {
		if !isListed(u) {
			rows[i].State = StateListed
		}
	}
	return slices.DeleteFunc(change, func(u trust.Use) bool { return !isListed(u) }), unlisted, nil
}

// findChanges are the uses that are not yet as they shall be.
func (t ConsentFlags) findChanges(ctx context.Context, g *daemon.Guard, uses []trust.Use) (change []trust.Use, rows []wanted, err error) {
	consents, err := g.Consents(ctx)
	if err != nil {
		return nil, nil, err
	}
	rows = []wanted{}
	for _, u := range uses {
		w := wanted{Reference: u.Ref.String(), Host: u.Host, State: stateNone}
		if at := slices.IndexFunc(consents, func(c trust.Consent) bool { return c.Use == u }); at >= 0 {
			w.State, w.By, w.At, w.Reason = StateAgreed, consents[at].Actor, consents[at].At, consents[at].Reason
		} else if g.Holds(u) {
			w.State = StateAgreed
		}
		switch recorded := w.By != ""; {
		case t.revoke && recorded:
			w.State = stateRevoked
			change = append(change, u)
		case !t.revoke && w.State == stateNone:
			w.State = StateAgree
			change = append(change, u)
		}
		rows = append(rows, w)
	}
	return change, rows, nil
}
