package executor

import (
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
)

// delivery is how the records of a slice come: with the items of its list, or from a
// second endpoint that is asked for the ids which the list names.
type delivery interface {
	// addPage adds to a bundle what a page of the list brought, and returns the ids that
	// wait then. last says that the list is at its end; done, that the slice is.
	addPage(b *bundle, page *extract.Page, last bool) (found twophase.Progress, done bool)
	// keptIDs returns the waiting ids as the checkpoint of a page keeps them.
	keptIDs(found twophase.Progress) *twophase.Progress
	// owedWindow returns what of the slice has to be read again if it ends now, where the list
	// was read up to the beginning of left.
	owedWindow(left window.Window) window.Window
	// readerOf returns what reads an answer of the detail endpoint, or of the list.
	readerOf(detail bool) *spec.Program
	// asksByID reports whether records can be asked for by their ids.
	asksByID() bool
	// listsIDs reports whether items of the list are ids only, and no records.
	listsIDs() bool
}

// newDelivery returns the delivery of a program.
func newDelivery(r *taskRun) delivery {
	switch {
	case r.program.ReadsFiles():
		return fileDelivery{r}
	case r.program.Detail == nil:
		return listDelivery{r}
	case r.program.SearchIsWhole:
		return namedDelivery{listDelivery{r}}
	}
	return detailDelivery{r}
}

// listDelivery takes the items of the list for the records.
type listDelivery struct{ *taskRun }

func (l listDelivery) addPage(b *bundle, page *extract.Page, last bool) (twophase.Progress, bool) {
	b.records, b.seen, b.duplicate, b.outside, b.strays = page.Records, page.Seen, page.Duplicate, page.Outside, page.Kept
	b.excluded = page.Excluded
	return l.ids, last
}

func (listDelivery) keptIDs(twophase.Progress) *twophase.Progress { return nil }

func (listDelivery) owedWindow(left window.Window) window.Window { return left }

func (l listDelivery) readerOf(bool) *spec.Program { return l.program }

func (listDelivery) asksByID() bool { return false }

func (listDelivery) listsIDs() bool { return false }

// namedDelivery takes the items of a list for the records, and asks by id for records that an
// UPDATE names. Answers that are kept may be of either kind.
type namedDelivery struct{ listDelivery }

func (n namedDelivery) readerOf(detail bool) *spec.Program {
	if detail {
		return n.program.Detail
	}
	return n.program
}

func (namedDelivery) asksByID() bool { return true }

// detailDelivery takes ids from the items of the list, and records from a detail endpoint.
type detailDelivery struct{ *taskRun }

func (d detailDelivery) addPage(b *bundle, page *extract.Page, last bool) (twophase.Progress, bool) {
	ids := d.detail.newIDs(page.Records)
	found := d.ids.Found(ids, last)
	b.seen, b.found = len(page.Rejects), len(ids)
	return found, last && found.Done()
}

func (detailDelivery) keptIDs(found twophase.Progress) *twophase.Progress { return &found }

// owedWindow returns the whole slice: ids that wait for their details are not read.
func (d detailDelivery) owedWindow(window.Window) window.Window { return d.work.Window }

func (d detailDelivery) readerOf(detail bool) *spec.Program {
	if detail {
		return d.program.Detail
	}
	return d.program
}

func (detailDelivery) asksByID() bool { return true }

func (detailDelivery) listsIDs() bool { return true }
