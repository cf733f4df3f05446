package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func showTried(e *term.Env, t tried, asked string) error {
	if e.Output == "json" {
		return e.JSON(t)
	}
	for step := t.TrialResult; step != nil; step = step.Detail {
		if step != t.TrialResult {
			fmt.Fprintf(e.Out, "\nsecond step: %s\n", term.Printable(step.Endpoint))
			asked = "the ids that were found"
		}
		if err := showStep(e, t, step, asked); err != nil {
			return err
		}
		if step.Body != "" {
			fmt.Fprintf(e.Out, "\n%s\n", strings.TrimSuffix(term.Printable(step.Body), "\n"))
		}
	}
	return nil
}

func showStep(e *term.Env, t tried, r *daemon.TrialResult, asked string) error {
	fmt.Fprintf(e.Out, "%s\n\n", requestText(r.Request.Method, r.Request.URL, r.Request.Headers, r.Request.Body))
	facts := []term.Fact{{"credential", t.Credential.String()}, {"asked for", fmt.Sprintf("page %d of %s", r.Page, asked)}}
	if r.Expression != "" {
		facts = append(facts, term.Fact{"expression", r.Expression})
	}
	facts = append(facts, term.Fact{"response", responseText(r.Response, r.Attempts)})
	if limits := limitHeaders(r.Response); limits != "" {
		facts = append(facts, term.Fact{"limits", limits})
	}
	if r.Decision == nil { // the answer could not be read
		if r.Response != nil && r.Response.Sample != "" {
			facts = append(facts, term.Fact{"begins with", wording.Shorten(r.Response.Sample, sampleWidth)})
		}
		return term.PrintFacts(e, r, facts)
	}
	facts = append(facts,
		term.Fact{"items", fmt.Sprintf("%d: %d mapped, %s%s, %d duplicate, %d rejected", r.Seen, r.Mapped, wording.OutsideText(r.Outside, r.Kept), wording.ExcludedText(r.Excluded), r.Duplicate, r.Rejected)},
		term.Fact{"total", totalText(r)}, term.Fact{"paging", decisionText(r)})
	if err := term.PrintFacts(e, r, facts); err != nil {
		return err
	}
	return showItems(e, r)
}

const sampleWidth = 300

func responseText(r *exchange.ResponseDigest, attempts int) string {
	if r == nil {
		return "none"
	}
	kind := wording.OrDash(r.Headers["Content-Type"])
	text := fmt.Sprintf("HTTP %d, %s, %d bytes, took %d ms", r.Status, kind, r.Bytes, r.TookMS)
	if attempts > 1 {
		text += fmt.Sprintf(", after %d tries", attempts)
	}
	return text
}

// limitHeaders is what the upstream says about its limits.
func limitHeaders(r *exchange.ResponseDigest) string {
	if r == nil {
		return ""
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		if strings.HasPrefix(name, "X-") || name == "Retry-After" {
			out = append(out, name+": "+r.Headers[name])
		}
	}
	return strings.Join(out, ", ")
}

func totalText(r *daemon.TrialResult) string {
	switch {
	case r.BadTotal != "":
		return r.BadTotal
	case r.Total == nil:
		return "not announced"
	}
	return fmt.Sprint(*r.Total)
}

func decisionText(r *daemon.TrialResult) string {
	d := r.Decision
	switch {
	case d.Failed != "":
		return "cannot go on: " + d.Failed + nothingText(d)
	case d.Done:
		return "this is the last page, because of: " + d.Why + nothingText(d)
	}
	return "there is a next page, because of: " + d.Why + "; it is asked for with " + d.Next + nothingText(d)
}

// nothingText names the place that should name the next page and does not.
func nothingText(d *daemon.TrialDecision) string {
	if d.NothingAt == "" {
		return ""
	}
	return "; nothing stands at " + d.NothingAt
}

func showItems(e *term.Env, r *daemon.TrialResult) error {
	type record = struct {
		id, at, fields string
	}
	var records []record
	for _, in := range r.Records {
		text, err := json.Marshal(in.Fields)
		if err != nil {
			return err
		}
		if in.Gone {
			text = []byte("gone: the upstream announces its deletion")
		}
		records = append(records, record{in.ID, wording.SecondText(in.UpdatedAt), string(text)})
	}
	if len(records) > 0 {
		fmt.Fprintln(e.Out)
		if err := term.PrintList(e, records, term.NewColumns([]string{"id", "updated at", "fields"}, func(r record) []any { return []any{wording.Shorten(r.id, 36), r.at, wording.Shorten(r.fields, 56)} })); err != nil {
			return err
		}
	}
	if len(r.Rejects) == 0 {
		return nil
	}
	fmt.Fprintln(e.Out)
	for _, bad := range r.Rejects {
		fmt.Fprintln(e.Out, term.Printable(fmt.Sprintf("rejected item %d (%s): %s%s: %s", bad.Index, wording.OrDash(bad.ID), bad.Reason, pathText(bad.Path), bad.Detail)))
	}
	if more := r.Rejected - len(r.Rejects); more > 0 {
		fmt.Fprintf(e.Out, "and %d more\n", more)
	}
	return nil
}

func pathText(path string) string {
	if path == "" {
		return ""
	}
	return " at " + path
}
