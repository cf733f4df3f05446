package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/daemon"
)

func (e *env) showTried(t tried, asked string) error {
	if e.output == "json" {
		return e.json(t)
	}
	for step := t.TrialResult; step != nil; step = step.Detail {
		if step != t.TrialResult {
			fmt.Fprintf(e.out, "\nsecond step: %s\n", printable(step.Endpoint))
			asked = "the ids that were found"
		}
		if err := e.showStep(t, step, asked); err != nil {
			return err
		}
	}
	return nil
}

func (e *env) showStep(t tried, r *daemon.TrialResult, asked string) error {
	fmt.Fprintf(e.out, "%s\n\n", requestText(r.Request.Method, r.Request.URL, r.Request.Headers, r.Request.Body))
	facts := []fact{{"credential", t.Credential.String()}, {"asked for", fmt.Sprintf("page %d of %s", r.Page, asked)}}
	if r.Expression != "" {
		facts = append(facts, fact{"expression", r.Expression})
	}
	facts = append(facts, fact{"response", responseText(r.Response, r.Attempts)})
	if limits := limitHeaders(r.Response); limits != "" {
		facts = append(facts, fact{"limits", limits})
	}
	if r.Decision == nil { // the answer could not be read
		if r.Response != nil && r.Response.Sample != "" {
			facts = append(facts, fact{"begins with", short(r.Response.Sample, sampleWidth)})
		}
		return show(e, r, facts)
	}
	facts = append(facts,
		fact{"items", fmt.Sprintf("%d: %d mapped, %s, %d duplicate, %d rejected", r.Seen, r.Mapped, outsideText(r.Outside, r.Kept), r.Duplicate, r.Rejected)},
		fact{"total", totalText(r)}, fact{"paging", decisionText(r)})
	if err := show(e, r, facts); err != nil {
		return err
	}
	return e.showItems(r)
}

const sampleWidth = 300

func responseText(r *exchange.ResponseDigest, attempts int) string {
	if r == nil {
		return "none"
	}
	kind := dash(r.Headers["Content-Type"])
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

func (e *env) showItems(r *daemon.TrialResult) error {
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
		records = append(records, record{in.ID, when(in.UpdatedAt), string(text)})
	}
	if len(records) > 0 {
		fmt.Fprintln(e.out)
		if err := list(e, records, newColumns([]string{"id", "updated at", "fields"}, func(r record) []any { return []any{short(r.id, 36), r.at, short(r.fields, 56)} })); err != nil {
			return err
		}
	}
	if len(r.Rejects) == 0 {
		return nil
	}
	fmt.Fprintln(e.out)
	for _, bad := range r.Rejects {
		fmt.Fprintln(e.out, printable(fmt.Sprintf("rejected item %d (%s): %s%s: %s", bad.Index, dash(bad.ID), bad.Reason, at(bad.Path), bad.Detail)))
	}
	if more := r.Rejected - len(r.Rejects); more > 0 {
		fmt.Fprintf(e.out, "and %d more\n", more)
	}
	return nil
}

func at(path string) string {
	if path == "" {
		return ""
	}
	return " at " + path
}
