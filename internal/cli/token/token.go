package token

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// New is the command.
func New(e *term.Env) *cobra.Command {
	return term.NewGroup("token", "Make, list and revoke access tokens of the HTTP interface",
		newCreate(e), newList(e), newRevoke(e))
}

// created is what a new token is in JSON: the one place where its text stands.
type created struct {
	access.Token
	Text string `json:"token,omitempty"`
	File string `json:"file,omitempty"`
}

func newCreate(e *term.Env) *cobra.Command {
	var a term.Acting
	var want daemon.TokenWish
	var role, lasts, out string
	c := &cobra.Command{
		Use:   "create NAME",
		Short: "Make an access token and show it once",
		Long: `Make an access token for a program or a person. It is shown once, on stdout, or
written to a file that only you may read (--out). The database keeps its hash only:
a token that is lost is revoked, and another one made.

Roles, each with what the ones before it may:
  viewer    reads status, coverage, counts and masked evidence
  reader    reads records, raw bodies, exports and black boxes
  operator  starts, stops and repeats work; waives, requeues, silences
  admin     changes sources, watermarks and access tokens

With --source the token knows these sources only: others answer as if they did not
exist. Programs bring it as "Authorization: Bearer TOKEN", people log in with it.`,
		Example: `  patra token create grafana --role viewer
  patra token create ci --role operator --source crossref --expires 30d --out ci.token
  patra token create jane --role admin --expires 12h --reason rota`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			want.Name = args[0]
			if err := readWish(&want, role, lasts); err != nil {
				return err
			}
			if out != "" && !a.Dry {
				if err := daemon.CheckTokenFile(out); err != nil {
					return term.Usagef("--out: %v", err)
				}
			}
			app, err := e.Open(cmd.Context(), nil)
			if err != nil {
				return err
			}
			defer app.Close()
			if err := checkSources(cmd.Context(), app, want.Sources); err != nil {
				return err
			}
			text, made, err := app.Tokens.Create(cmd.Context(), want, a.Act())
			if err != nil {
				return err
			}
			e.HintDryRun(a.Dry)
			shown := created{Token: made, Text: text.Reveal()}
			if a.Dry {
				return term.PrintFacts(e, shown, facts(made))
			}
			if out != "" {
				if err := daemon.WriteTokenFile(out, shown.Text, false); err != nil {
					return fmt.Errorf("access token %d was made, and its file could not be written: %w; revoke it: patra token revoke %d", made.ID, err, made.ID)
				}
				shown.Text, shown.File = "", out
				e.Hint("the access token is in %s", out)
				return term.PrintFacts(e, shown, facts(made))
			}
			if e.Output == "json" {
				return e.JSON(shown)
			}
			if _, err := fmt.Fprintln(e.Out, shown.Text); err != nil {
				return fmt.Errorf("access token %d was made and could not be shown: %w; revoke it: patra token revoke %d", made.ID, err, made.ID)
			}
			e.Hint("access token %d %s: %s, %s, until %s. It is not shown again", made.ID, made.Name, made.Role, sourcesOf(made), made.Expires.Format(time.RFC3339))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&role, "role", "", "what it may do: viewer, reader, operator or admin")
	f.StringSliceVar(&want.Sources, "source", nil, "only this source; may be given several times (default: every source)")
	f.StringVar(&lasts, "expires", "90d", "how long it lasts, such as 12h or 90d")
	f.BoolVar(&want.Insisted, "more-than-a-year", false, "let it last for more than a year")
	f.StringVar(&out, "out", "", "write the token to this new file, which only you may read")
	a.Flags(c)
	_ = c.RegisterFlagCompletionFunc("role", cobra.FixedCompletions([]string{"viewer", "reader", "operator", "admin"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return c
}

func readWish(want *daemon.TokenWish, role, lasts string) (err error) {
	if role == "" {
		return term.Usagef("--role is needed: viewer, reader, operator or admin")
	}
	if want.Role, err = access.ParseRole(role); err != nil {
		return term.Usagef("--role: %v", err)
	}
	if err := access.CheckName(want.Name); err != nil {
		return term.Usage(err)
	}
	if want.Lasts, err = term.ParseDuration(lasts); err != nil {
		return term.Usagef("--expires: %v", err)
	}
	if err := access.CheckLife(want.Lasts, want.Insisted); err != nil {
		return term.Usagef("--expires: %v", err)
	}
	want.Sources = access.SortSources(want.Sources)
	return nil
}

// checkSources refuses a source that is not known: a token for a misspelled one would see
// nothing, and nobody would know why.
func checkSources(ctx context.Context, app *daemon.App, names []string) error {
	if len(names) == 0 {
		return nil
	}
	known, err := app.SourceCodes(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return term.Usagef("--source %s: no such source; known are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func sourcesOf(k access.Token) string {
	if len(k.Sources) == 0 {
		return "every source"
	}
	return strings.Join(k.Sources, ", ")
}

func facts(k access.Token) []term.Fact {
	return []term.Fact{
		{"id", term.IDOrDash(k.ID)}, {"name", k.Name}, {"role", string(k.Role)}, {"sources", sourcesOf(k)},
		{"created", k.Created}, {"expires", k.Expires}, {"last used", k.LastUsed}, {"revoked", k.Revoked}, {"by", term.Printable(k.Actor)},
	}
}

func newList(e *term.Env) *cobra.Command {
	var now time.Time
	l := term.Lister[access.Token]{
		Noun: "access tokens",
		Columns: term.NewColumns([]string{"id", "name", "role", "sources", "state", "expires", "last used", "by"}, func(k access.Token) []any {
			return []any{k.ID, k.Name, string(k.Role), wording.Shorten(sourcesOf(k), 30), stateOf(k, now), k.Expires, k.LastUsed, term.Printable(k.Actor)}
		}),
		ID: func(k access.Token) int64 { return k.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) (out []access.Token, err error) {
			if now, err = app.Now(ctx); err != nil {
				return nil, err
			}
			return app.Tokens.List(ctx, f)
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "list",
		Short: "List access tokens, newest first, also those that are over",
		Long: `List access tokens, newest first: who has one, what it may do, until when, and when
it was last used (to the minute). The tokens themselves are kept nowhere.`,
		Example: `  patra token list
  patra token list -o json`,
	})
	return c
}

func stateOf(k access.Token, now time.Time) string {
	switch {
	case !k.Revoked.IsZero():
		return "revoked"
	case !k.Valid(now):
		return "expired"
	}
	return "valid"
}

func newRevoke(e *term.Env) *cobra.Command {
	var a term.Acting
	c := &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "End an access token at once, and the browsers logged in with it",
		Long: `End an access token at once. The next request with it is refused, and browsers that
logged in with it have to log in again. A name means the newest token that has it.`,
		Example: `  patra token revoke 3
  patra token revoke grafana --reason leaked`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				ended, changed, err := app.Tokens.Revoke(cmd.Context(), args[0], a.Act())
				if err != nil {
					return err
				}
				if !changed {
					e.Hint("access token %d was over already", ended.ID)
				}
				e.HintDryRun(a.Dry)
				return term.PrintFacts(e, ended, facts(ended))
			})
		},
	}
	a.Flags(c)
	return c
}
