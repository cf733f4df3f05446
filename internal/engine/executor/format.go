package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
)

// schemaSample is the least number of items from which their share tells something about
// the format.
const schemaSample = 5

// sample is what other items of the upstream say about its format, where a slice has too
// few of its own. They are read and not stored.
type sample struct {
	seen, rejected int
}

// hasUnderstood reports whether one of the items could be understood.
func (s sample) hasUnderstood() bool { return s.rejected < s.seen }

// orNone returns the sample, or an empty one if nobody looked.
func (s *sample) orNone() sample {
	if s == nil {
		return sample{}
	}
	return *s
}

// add counts the items of a page.
func (s sample) add(page *extract.Page) sample {
	return sample{s.seen + page.Seen, s.rejected + len(page.Rejects)}
}

// isAllRejected reports whether a page has items and none of them can be understood.
func isAllRejected(page *extract.Page, tolerated float64) bool {
	return page.Seen > 0 && len(page.Rejects) >= page.Seen && tolerated < 1
}

// schemaChange returns the fault of a page of which nothing can be understood. That is a
// changed format, not a page of bad items; setting each of them aside would bury the news
// (§4.13).
func schemaChange(page *extract.Page, older sample) *fault.Error {
	text := fmt.Sprintf("none of the %d items could be understood", page.Seen)
	if older.seen > 0 {
		text = fmt.Sprintf("none of the %d items could be understood, and none of %d that were read again", page.Seen, older.seen)
	}
	return fault.Newf(fault.SchemaChange, "%s; the first: %s", text, describeReject(page.Rejects[0]))
}

// describeReject says what is wrong with an item: the reason, the rule and what was found.
func describeReject(r record.Reject) string {
	return fmt.Sprintf("%s %s %s", r.Reason, r.Path, r.Detail)
}

// noteRejects keeps what is wrong with the last item that was rejected, for who has to mend
// it.
func (r *taskRun) noteRejects(rejects []record.Reject) {
	if len(rejects) > 0 {
		r.rejectedFor = describeReject(rejects[len(rejects)-1])
	}
}

// checkFormat returns a fault if nothing of a page can be understood because the format was
// changed. A handful of items may simply be bad. Older ones, which are asked for then, tell
// the two apart at once: waiting for more would leave failed ranges and items in quarantine
// behind, each of which tells of the same cause again (§4.13, D§5.28).
func (l *listWalk) checkFormat(ctx context.Context, page *extract.Page) *fault.Error {
	if !isAllRejected(page, l.program.Response.MaxRejectRate) {
		return nil
	}
	if page.Seen >= schemaSample {
		return schemaChange(page, sample{})
	}
	if l.pass.read > l.pass.rejected {
		return nil // other pages of the slice are understood
	}
	older := l.sampleOlder(ctx)
	if older.hasUnderstood() || older.seen+l.pass.read+page.Seen < schemaSample {
		return nil
	}
	return schemaChange(page, older)
}

// widenSample looks at older items if a slice has only a handful and most are bad.
func (l *listWalk) widenSample(ctx context.Context, p listPass) {
	if p.read < schemaSample && tooManyRejects(p.rejected, p.read, l.program.Response.MaxRejectRate, "") != nil {
		l.sampleOlder(ctx)
	}
}

// How far back older items are looked for, in lengths of the slice. A slice with one item
// has some ten in as many lengths, unless the source is uneven.
var olderLengths = []int{10, 100}

// longestSample bounds that, for long slices.
const longestSample = 10 * 365 * 24 * time.Hour

// sampleOlder reads items from before the slice, once a run.
func (l *listWalk) sampleOlder(ctx context.Context) sample {
	if l.older != nil {
		return *l.older
	}
	l.older = &sample{}
	if l.asked.Empty() || l.expectedItems(nil).Drop { // a list that is not asked for by time has no older items than these
		return *l.older
	}
	for _, times := range olderLengths {
		back := min(time.Duration(times)*min(l.asked.Duration(), longestSample/100), longestSample)
		page := l.fetchFirstPage(ctx, window.Window{From: l.asked.From.Add(-max(back, l.asked.Duration())), To: l.asked.From})
		if page == nil {
			break // who does not answer says nothing
		}
		if found := (sample{}).add(page); found.seen > l.older.seen {
			*l.older = found
		}
		if l.older.seen >= schemaSample || l.older.hasUnderstood() {
			break
		}
	}
	return *l.older
}

// checkFormat returns a fault if nothing of an answer with details can be understood because
// the format was changed. Where the answer has only a handful, records that are stored are
// asked for again: they could be understood once.
func (d *detailWalk) checkFormat(ctx context.Context, page *extract.Page) *fault.Error {
	if d.rules.named || !isAllRejected(page, d.program.Detail.Response.MaxRejectRate) {
		return nil
	}
	if page.Seen >= schemaSample {
		return schemaChange(page, sample{})
	}
	if stored := d.sampleStored(ctx); stored.seen > 0 && !stored.hasUnderstood() {
		return schemaChange(page, stored)
	}
	return nil
}

// sampleStored asks for records that are stored, once a run.
func (d *detailWalk) sampleStored(ctx context.Context) sample {
	if d.stored != nil {
		return *d.stored
	}
	d.stored = &sample{}
	ids, err := d.executor.store.Witnesses(ctx, d.work.DatasetID, [16]byte{}, min(schemaSample, d.program.Details.BatchSize))
	if err != nil || len(ids) == 0 {
		return *d.stored
	}
	request, err := d.program.Detail.AskFor(ids, d.lastSeen).Page(d.program.Detail.Paging.First())
	if err != nil {
		return *d.stored
	}
	request.Replayable = true
	failed := d.failed
	a, err := d.fetchAnswer(ctx, d.program.Detail, request, d.searchPolicy())
	if d.failed = failed; err == nil {
		*d.stored = sample{}.add(a.page)
	}
	return *d.stored
}

// judgeRejects looks at the rejects of a slice that is read to its end. Ids and details
// are counted apart: the good ids must not outweigh details nobody can use. Older items
// that were looked at count too: one bad item on a quiet day is a bad item (§12.1, L3).
func (r *taskRun) judgeRejects(p listPass, found twophase.Progress) *fault.Error {
	older, stored := r.older.orNone(), r.stored.orNone()
	if tooMany := tooManyRejects(p.rejected+older.rejected, p.read+older.seen, r.program.Response.MaxRejectRate, r.rejectedFor); tooMany != nil || found.Answered < r.detail.rules.sample {
		return tooMany
	}
	return tooManyRejects(found.Bad+stored.rejected, found.Answered+stored.seen, r.delivery.readerOf(true).Response.MaxRejectRate, r.rejectedFor)
}

// tooManyRejects fails a slice most of whose items were unusable: that is a
// changed schema, not bad luck (D§5.16). Example is what is wrong with one of them.
func tooManyRejects(rejected, read int, limit float64, example string) *fault.Error {
	if read == 0 || float64(rejected)/float64(read) <= limit {
		return nil
	}
	if example != "" {
		example = "; the last: " + example
	}
	return fault.Newf(fault.RejectRate, "%d of %d items were rejected or missing, more than response.maxRejectRate of %g%s", rejected, read, limit, example)
}
