package daemon

import (
	"net/url"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// The pages show what is really there: events that nobody got, what batches give when they are done
// again, and the versions of a record side by side with the batch of each.
func TestPagesShowWhatIsThere(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	errors := textOf(p.page("/errors"))
	p.has(errors, "2 dead events", "crossref works 2 0", "Try again …", "Give up …")

	p.has(textOf(p.page(p.names.Replace("/runs/RUN/replay"))), "of run", "as they were", "under the settings of then", "identical, 0 differ", "nothing is written")
	p.has(textOf(p.page(p.names.Replace("/tasks/DONE/replay"))), "1 batch of task", "as they were", "1 identical, 0 differ")
	p.has(textOf(p.page(p.names.Replace("/batches/BATCH"))), "kept", "Download the answer")

	id := p.recordID()
	p.must(p.data.Touch(id, time.Date(2025, 3, 5, 12, 0, 0, 0, time.UTC), true))
	p.broken.Store(false)
	p.acts("/rate/release?key=crossref", admin) // the upstream asked for a pause of hours
	const fill = "/coverage/crossref/fill?endpoint=works&from=2025-03-05&to=2025-03-06"
	mark := p.firstIn(p.page(fill), markOfForm.String())
	p.post(fill, url.Values{"mark": {mark}, "reason": {"their outage is over"}}, admin)
	newest, err := p.app.Plans.List(t.Context(), view.Filter{Limit: 1})
	p.must(err)
	_, err = p.app.Work(t.Context(), newest[0].ID, nil)
	p.must(err)
	body := p.page("/records?source=crossref&id=" + url.QueryEscape(id))
	p.has(body, `class="differs"`)
	p.has(textOf(body), "is stored in 2 versions", "Field version 2 version 1", "≠")
	p.firstIn(body, `Of batch</th><td><a href="(/batches/\d+)">\d+</a></td><td><a href="/batches/\d+">`)
}
