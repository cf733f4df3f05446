package alert

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func wordList(words []string) string { return strings.Join(words, ", ") }

// checkWord refuses what could only give an empty list.
func checkWord(flag string, given *string, known []string) error {
	*given = strings.ToUpper(*given)
	if *given != "" && !slices.Contains(known, *given) {
		return term.Usagef("--%s %s: expected %s", flag, *given, wordList(known))
	}
	return nil
}

func newSilence(e *term.Env) *cobra.Command {
	var a term.Acting
	var want alert.Silence
	var code, until, lasts string
	c := &cobra.Command{
		Use:   "silence",
		Short: "Keep alerts about something from being told for a while",
		Long: `Stop sending alerts until a given instant: alerts with a certain code, about a
source, or about a campaign. If you name several, only alerts that match all of
them are silenced. Findings still show in patra status, and alerts in patra alert
list. A finding that still lasts when the silence ends is sent then. If an alert was
already sent, the message that it is over is sent even during the silence.`,
		Example: `  patra alert silence --source crossref --for 2h --reason maintenance
  patra alert silence --code QUARANTINED --until 2026-11-17T06:00:00Z --reason known`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Reason == "" {
				return term.Usagef("--reason is needed: whoever finds this later will ask for it")
			}
			want.Code = view.FindingCode(strings.ToUpper(code))
			return e.ReadSource(cmd.Context(), want.Source, func(app *daemon.App) (err error) {
				if want.Until, err = silenceEnd(cmd.Context(), app, until, lasts); err != nil {
					return err
				}
				made, err := app.Alerts.Silence(cmd.Context(), want, a.Act())
				if err != nil {
					return err
				}
				err = term.PrintFacts(e, made, silenceFacts(made))
				if made.ID != 0 {
					e.Hint("to end it sooner: patra alert unsilence %d", made.ID)
				}
				e.HintDryRun(a.Dry)
				return err
			})
		},
	}
	f := c.Flags()
	f.StringVar(&code, "code", "", "only alerts with this code of a finding, such as QUARANTINED")
	f.StringVar(&want.Source, "source", "", "only alerts about this source")
	f.StringVar(&want.Campaign, "campaign", "", "only alerts about this campaign")
	f.StringVar(&until, "until", "", "until this instant: RFC 3339 or a date")
	f.StringVar(&lasts, "for", "", "for so long, such as 2h or PT30M")
	a.Flags(c)
	return c
}

// silenceEnd reads when a silence ends, by the clock of the database.
func silenceEnd(ctx context.Context, app *daemon.App, until, lasts string) (at time.Time, err error) {
	if (until == "") == (lasts == "") {
		return at, term.Usagef("say how long: --for 2h, or --until 2026-11-17T06:00:00Z")
	}
	now, err := app.Now(ctx)
	if err != nil {
		return at, err
	}
	if lasts != "" {
		d, err := term.ParseDuration(lasts)
		if err != nil || d <= 0 {
			return at, term.Usagef("--for %q: expected a length of time, such as 2h", lasts)
		}
		return now.Add(d), nil
	}
	end, err := term.ParseTime("until", until, now)
	if err != nil {
		return at, err
	}
	return *end, nil
}

func silenceFacts(s alert.Silence) []term.Fact {
	return []term.Fact{
		{"id", term.IDOrDash(s.ID)},
		{"code", wording.OrDash(string(s.Code))},
		{"source", wording.OrDash(s.Source)},
		{"campaign", wording.OrDash(s.Campaign)},
		{"until", s.Until},
		{"reason", term.Printable(s.Reason)},
		{"by", term.Printable(s.Actor)},
		{"ended", s.RemovedAt},
	}
}

func newSilences(e *term.Env) *cobra.Command {
	l := term.Lister[alert.Silence]{
		Noun: "silences",
		Columns: term.NewColumns([]string{"id", "code", "source", "campaign", "until", "ended", "by", "reason"}, func(s alert.Silence) []any {
			return []any{s.ID, wording.OrDash(string(s.Code)), wording.OrDash(s.Source), wording.OrDash(s.Campaign), s.Until, s.RemovedAt, term.Printable(s.Actor), wording.Shorten(term.Printable(s.Reason), 40)}
		}),
		ID: func(s alert.Silence) int64 { return s.ID },
		Read: func(ctx context.Context, app *daemon.App, f view.Filter) ([]alert.Silence, error) {
			return app.Alerts.ListSilences(ctx, f)
		},
	}
	c, _ := l.Command(e, &cobra.Command{
		Use:   "silences",
		Short: "List silences, newest first, also those that are over",
		Example: `  patra alert silences
  patra alert silences -o json`,
	})
	return c
}

func newUnsilence(e *term.Env) *cobra.Command {
	var a term.Acting
	c := &cobra.Command{
		Use:   "unsilence ID",
		Short: "End a silence before its time",
		Long:  `End a silence before its time. Findings that still last are told soon after.`,
		Example: `  patra alert unsilence 3
  patra alert unsilence 3 --reason done`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := term.ParseID("silence", args[0])
			if err != nil {
				return err
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				ended, changed, err := app.Alerts.Unsilence(cmd.Context(), id, a.Act())
				if err != nil {
					return err
				}
				if !changed {
					e.Hint("the silence %d was over already", id)
				}
				e.HintDryRun(a.Dry)
				return term.PrintFacts(e, ended, silenceFacts(ended))
			})
		},
	}
	a.Flags(c)
	return c
}
