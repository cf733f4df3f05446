package daemon

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// pageDeed is one form of the dashboard that acts, and whose rows it must leave.
type pageDeed struct {
	pattern string
	address string // empty: that of the pattern
	as      string // route of the interface that does the same, and leaves the same rows
	leaves  string // rows of what programs cannot do
	reads   bool   // nobody is asked for a reason, and it is not previewed
	form    url.Values
	given   string // what is made so before
}

// pageDeeds are done one after the other: what one leaves, another takes up.
var pageDeeds = []pageDeed{
	{pattern: "POST /rate/release", as: "POST /v1/rates/release"}, // else nothing would be asked
	{pattern: "POST /exports/{id}/cancel", as: "POST /v1/exports/{id}/cancel"},
	{pattern: "POST /exports/new", as: "POST /v1/exports"},
	{pattern: "POST /batches/{id}/replay", as: "POST /v1/batches/{id}/replay", reads: true},
	{pattern: "POST /coverage/{source}/count", leaves: "coverage.count", reads: true},
	{pattern: "POST /sources/{source}/test", leaves: "source.test", reads: true, form: url.Values{"do": {"test"}, "from": {"2025-03-02"}, "to": {"2025-03-03"}}},
	{pattern: "POST /quarantine/{source}/requeue", as: "POST /v1/quarantine/requeue"},
	{pattern: "POST /quarantine/{source}/discard", as: "POST /v1/quarantine/discard"},
	{pattern: "POST /plans/{id}/retry", address: "/plans/AGAIN/retry", as: "POST /v1/tasks/retry"},
	{pattern: "POST /plans/{id}/cancel", address: "/plans/AGAIN/cancel", as: "POST /v1/plans/{id}/cancel"},
	{pattern: "POST /tasks/{id}/retry", as: "POST /v1/tasks/retry"},
	{pattern: "POST /tasks/{id}/cancel", address: "/tasks/TASK/cancel", as: "POST /v1/tasks/cancel"},
	{pattern: "POST /coverage/{source}/fill", address: "/coverage/crossref/fill?from=2025-02-20&to=2025-02-22", as: "POST /v1/sources/{source}/fill"},
	{pattern: "POST /coverage/{source}/waive", as: "POST /v1/cursors/{id}/waive"},
	{pattern: "POST /cursors/{id}/accept", as: "POST /v1/cursors/{id}/accept"},
	{pattern: "POST /events/{source}/retry", as: "POST /v1/events/retry"},
	{pattern: "POST /events/{source}/discard", as: "POST /v1/events/discard", given: "UPDATE ing_outbox_message SET status_code = 'DEAD'"},
	{pattern: "POST /alerts/silence", as: "POST /v1/silences"},
	{pattern: "POST /cursors/{id}/set", as: "POST /v1/cursors/{id}/set"},
	{pattern: "POST /sources/{source}/apply", as: "POST /v1/sources/{source}/apply", form: url.Values{}},
}

// harmlessForms are the forms that neither change, send nor show anything of an upstream.
var harmlessForms = map[string]bool{"POST /theme": true, "POST /sources/{source}/check": true}

// TestR13EveryFormIsARow looks at the preview of every form of the dashboard that acts and sends it
// with its mark and a reason: each leaves the rows that the same act leaves through the interface for
// programs. The preview leaves none, and neither does a form without a reason. A pattern that nobody
// decided about fails the test.
func TestR13EveryFormIsARow(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		p := newPrograms(t, database)
		p.web = p.app.newDashboard("test", p.api.Document(), callerIn, func(context.Context) string { return fmt.Sprintf("r%d", p.requests.Add(1)) })
		known := map[string]bool{}
		for _, d := range pageDeeds {
			known[d.pattern] = true
		}
		for _, pattern := range p.patterns() {
			if strings.HasPrefix(pattern, "POST ") && !known[pattern] && !harmlessForms[pattern] {
				t.Errorf("%s acts, and this test does not do it", pattern)
			}
		}
		p.submit(pageDeeds[0])
		p.harvest("retry.maxAttempts=1", "retry.taskAttempts=1", "retry.initialDelay=PT0.001S", "retry.maxDelay=PT0.002S", "slicing.step=P1D")
		again := p.newestPlan() // another one that failed
		for _, d := range pageDeeds[1:] {
			if d.given != "" {
				p.exec(d.given)
			}
			d.address = strings.ReplaceAll(d.address, "AGAIN", again)
			p.submit(d)
		}
	})
}

// submit does what a form does, and holds what it left.
func (p *programs) submit(d pageDeed) {
	p.Helper()
	at := p.addressOf(d.pattern)
	if d.address != "" {
		at = p.names.Replace(d.address)
	}
	leaves := d.leaves
	for _, same := range deeds {
		if same.route == d.as {
			leaves = same.leaves
		}
	}
	if leaves == "" {
		p.Fatalf("%s: the interface has no %s", d.pattern, d.as)
	}
	before := p.newestAct()
	nothing := func(what string) {
		p.Helper()
		if now := p.newestAct(); now != before {
			p.Errorf("%s: %s left %d rows", d.pattern, what, now-before)
		}
	}
	form := p.formOfDeed(d)
	send := func(want int, pairs ...string) string {
		p.Helper()
		status, body := p.post(at, with(form, pairs...), admin)
		if status != want && !(want == http.StatusOK && status == http.StatusSeeOther) {
			p.Errorf("%s at %s: %d, want %d: %.400s", d.pattern, at, status, want, textOf(body))
		}
		return body
	}
	if d.reads {
		send(http.StatusOK)
		p.holdRows(d.pattern, before, leaves, true)
		return
	}
	preview := ""
	if d.form != nil { // of a text that no address holds
		preview = send(http.StatusOK, "do", "preview")
		form.Set("do", "apply")
	} else {
		var status int
		if status, preview = p.get(at, admin); status != http.StatusOK {
			p.Errorf("the preview of %s answers %d: %.400s", at, status, textOf(preview))
			return
		}
	}
	mark := p.firstIn(preview, `name="mark"(?: form="editor")? value="([^"]+)"`)
	nothing("the preview")
	send(http.StatusConflict, "mark", mark)
	nothing("a form without a reason")
	send(http.StatusConflict, "mark", "another", "reason", d.pattern)
	nothing("a form without its mark")
	send(http.StatusOK, "mark", mark, "reason", d.pattern)
	p.holdRows(d.pattern, before, leaves, false)
}

// formOfDeed is what a form has beside its mark and the reason.
func (p *programs) formOfDeed(d pageDeed) url.Values {
	p.Helper()
	if d.form == nil {
		return url.Values{}
	}
	form := with(p.editor(p.page("/sources/crossref")), "do", d.form.Get("do"), "from", d.form.Get("from"), "to", d.form.Get("to"))
	if strings.HasSuffix(d.pattern, "/apply") {
		yaml, err := strconv.Unquote(p.names.Replace("YAML"))
		p.must(err)
		form.Set("text", yaml)
	}
	return form
}
