package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/consent"
	"github.com/patra-ingest/patra/internal/cli/subject"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// tried is one page of a source, explained.
type tried struct {
	Source     string              `json:"source"`
	Origin     string              `json:"origin"`
	Operation  string              `json:"operation"`
	Credential *view.CredentialUse `json:"credential"`
	Error      string              `json:"error,omitempty"`
	*daemon.TrialResult
}

func newSourceTest(e *term.Env) *cobra.Command {
	var a asking
	var k keeping
	page := 1
	c := &cobra.Command{
		Use:   "test SRC|FILE",
		Short: "Ask the upstream for one page and explain the answer",
		Long: `Ask the upstream for one page, as a run would, and show what a run would make of
the answer: the request, the response, how many items were mapped and why others
were not, the paging decision, three records and the rejects. A source that
fetches details in a second step is asked for a few of them too. Credentials are
named, never shown. Nothing is stored.

Without a window the newest one that is safe to read is asked for. --page walks to
a later page, which takes as many requests.

--body prints the whole answer after that, --save writes it into a new file: also
an answer that could not be read, or one with an error. Our secrets are hidden in
it, and so are addresses and telephone numbers of people. The answer of a second
step goes into FILE.details.

Exit codes: 0 all items were mapped · 2 the source is invalid, or one of its paths
selects nothing in the answer · 3 items were rejected, or paging cannot go on · 4 the
upstream refuses our credentials, or you have not yet agreed to send them (patra
source trust) · 5 there is no such page · 7 the upstream is in trouble or asks to
slow down`,
		Example: `  patra source test crossref
  patra source test mine.yaml --window 2025-03-01..2025-03-02
  patra source test crossref --page 2 --set paging.size=20
  patra source test mine.yaml --body
  patra source test mine.yaml --save answer.json
  patra source test pubmed --endpoint efetch --ids 31452104 -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if page < 1 {
				return term.Usagef("--page %d: pages count from 1", page)
			}
			if err := k.check(); err != nil {
				return err
			}
			s, err := subject.Find(cmd.Context(), e, args[0])
			if err != nil {
				return err
			}
			now := time.Now().UTC()
			to, w, err := a.compileAt(s, now)
			if err != nil {
				return err
			}
			request := daemon.TrialRequest{Window: w, IDs: a.ids, Page: page, Now: now, Attempts: a.Attempts(), Body: k.wanted()}
			return tryRequest(cmd.Context(), e, to, request, k)
		},
	}
	a.flags(c)
	c.Flags().IntVar(&page, "page", page, "which page, from 1")
	k.flags(c)
	return c
}

// tryRequest shows what was tried also when it failed.
func tryRequest(ctx context.Context, e *term.Env, to subject.Selected, r daemon.TrialRequest, k keeping) error {
	subject.Warn(e, daemon.TrustWarner()(to.Compiled.Snapshot)) // before anything is used
	var result *daemon.TrialResult
	err := e.WithGuard(ctx, func(g *daemon.Guard) error {
		err := consent.Check(ctx, e, g, to.Compiled.Snapshot, to.Name, to.Parsed)
		if err != nil {
			return err
		}
		result, err = g.Try(ctx, to.Compiled, r)
		return err
	})
	if daemon.IsUntrusted(err) && result == nil {
		return err
	}
	if result == nil {
		return term.Usage(err) // no request could be made of it
	}
	s := to.Compiled.Snapshot
	t := tried{Source: s.Source, Origin: to.Origin, Operation: string(s.Operation), Credential: e.Installed.CredentialUse(s.Settings), TrialResult: result}
	if err != nil {
		t.Error = err.Error()
	}
	if failed := k.save(e, result); failed != nil {
		return failed
	}
	if !k.body {
		hideBodies(result)
	}
	if failed := showTried(e, t, askedFor(r.Window, r.IDs)); failed != nil {
		return failed
	}
	e.Hint("%s, fingerprint %s", to, to.Compiled.Fingerprint)
	subject.Warn(e, to.Compiled.Warnings)
	if w, missing := s.NoContact(); missing {
		subject.Warn(e, []spec.Warning{w})
	}
	if err != nil {
		if text := findEarlyEnd(result); text != "" { // a page that is not there may be one that nobody found
			e.Hint("%s: %s", result.Endpoint, text)
		}
		return failedTrial(err)
	}
	return judgeTrial(e, result)
}

// failedTrial adds what to do next. What our own rules refused, what could not be
// rendered, and a path that selects nothing, is for the author of the file.
func failedTrial(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	if step := nextStep(f); step != "" {
		err = fmt.Errorf("%w\nnext: %s", err, step)
	}
	if f.Code == fault.Render || f.Code == fault.Refused || f.Code == fault.BadBody && f.At != "" {
		return term.Usage(err)
	}
	return err
}

func nextStep(f *fault.Error) string {
	switch f.Code {
	case fault.Unauthorized:
		return "check the credential above: is its secret set, and does the upstream still accept it?"
	case fault.RateLimited:
		if gate.Reason(f.Held).Own() {
			return "nothing was sent: a limit of our own rate section is reached; `patra rate list` says which and until when"
		}
		if f.Wait > 0 {
			return fmt.Sprintf("try again in %s; if that happens often, lower rate.perSecond", f.Wait.Round(time.Second))
		}
		return "try again in a while; if that happens often, lower rate.perSecond"
	case fault.BadBody:
		if f.At != "" {
			return "is " + f.At + " the right path? Compare it with the start of the answer above, and set errorWhen if that is an error with a success status"
		}
		return "compare the start of the answer above with response: format, items, mustHave and errorWhen"
	case fault.BadRequest:
		return "compare the request above with the upstream's documentation; `patra source render` shows it without sending"
	case fault.Network:
		return "check http.baseUrl and the network; a slow upstream needs a longer http.timeout"
	case fault.ServerError:
		return "the upstream has trouble of its own: try later"
	case fault.TooLarge:
		return "ask for smaller pages (paging.size), or raise http.maxBodyBytes"
	case fault.Refused:
		return "http.allowHttp permits plain http, http.allowPrivate permits addresses of this network"
	case fault.Render:
		return "`patra source render` shows what each template becomes"
	}
	return ""
}

// judgeTrial makes an honest exit code of a page that could be read.
func judgeTrial(e *term.Env, r *daemon.TrialResult) error {
	rejected := 0
	for step := r; step != nil; step = step.Detail {
		rejected += step.Rejected
		if step.Decision != nil && step.Decision.Failed != "" {
			return term.Partialf("%s: paging cannot go on: %s", step.Endpoint, step.Decision.Failed)
		}
		if step.BadTotal != "" {
			e.Hint("%s: the announced total is %s: a run would go on without it", step.Endpoint, step.BadTotal)
		}
		switch {
		case step.Seen > 0:
		case step.Walked > 0:
			e.Hint("%s: page %d is empty: all %d items stood on the pages before it", step.Endpoint, step.Page, step.Walked)
		case step.Total != nil && *step.Total > 0:
			e.Hint("%s: the upstream announces %d items and sent none: is response.items right?", step.Endpoint, *step.Total)
		default:
			e.Hint("%s: there are no items: try another --window", step.Endpoint)
		}
	}
	for step := r; step != nil; step = step.Detail {
		if text := findEarlyEnd(step); text != "" {
			return term.Partialf("%s: %s", step.Endpoint, text)
		}
	}
	if rejected > 0 {
		return term.Partialf("%s rejected: a run would quarantine them with their reason", wording.Count(rejected, "item"))
	}
	return nil
}

// findEarlyEnd finds a walk that would end before it had everything: a wrong path of the
// next page looks like a last page.
func findEarlyEnd(r *daemon.TrialResult) string {
	if r.Decision == nil || !r.Decision.Done || r.Total == nil || r.Walked == 0 || int64(r.Walked) >= *r.Total {
		return ""
	}
	where := "look at the paths of the next page (response.nextToken, nextUrl)"
	if at := r.Decision.NothingAt; at != "" {
		where = "nothing stands at " + at + ": is that the path of the next page? Look at it"
	}
	pages := ""
	if r.Page > 1 {
		pages = " on " + wording.Count(r.Page, "page")
	}
	return fmt.Sprintf("the upstream announces %d items, sent %d%s and names no next page: %s and at response.total; "+
		"a run would take this for the whole list, because paging.expectTotal: false calls the total an estimate", *r.Total, r.Walked, pages, where)
}
