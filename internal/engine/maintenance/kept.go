package maintenance

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/retention"
)

// keptEvents are the events of a ledger that are still in the database although
// they are in a file: a few that stay for good, and all of a file that was sealed
// while they are deleted. So they are read in pages, beside the files, which have
// them in the same order (I14).
type keptEvents struct {
	read func(after int64) ([]retention.Row, error) // the page after an id; empty: there are no more

	page         []retention.Row
	after        int64
	ended        bool
	found, equal bool // of the first of the page: a file has it, and as it is here
	strange      int  // how many do not fit
	said         []string
}

// mostStrange is how many events that do not fit are named.
const mostStrange = 20

func (s *Service) keptEvents(ctx context.Context, cursorID, before int64) *keptEvents {
	return &keptEvents{read: func(after int64) ([]retention.Row, error) {
		return s.store.KeptEvents(ctx, cursorID, after, before, readAtOnce)
	}}
}

// nextKept returns the next event that no file has got past.
func (k *keptEvents) nextKept() (row retention.Row, ok bool, err error) {
	if len(k.page) == 0 && !k.ended {
		if k.page, err = k.read(k.after); err != nil {
			return row, false, err
		}
		k.ended = len(k.page) == 0
	}
	if k.ended {
		return row, false, nil
	}
	return k.page[0], true, nil
}

func (k *keptEvents) moveOn() {
	k.after, k.page, k.found, k.equal = k.page[0].ID, k.page[1:], false, false
}

// meetRow holds a row of a file against the event of that id. A snapshot stands last
// in one file, as the event it replaced, and first in the next, as itself: one of
// them has to fit.
func (k *keptEvents) meetRow(row retention.Row) error {
	for {
		kept, ok, err := k.nextKept()
		if err != nil || !ok || kept.ID > row.ID {
			return err
		}
		if kept.ID == row.ID {
			k.found = true
			k.equal = k.equal || sameColumns(row.Columns, kept.Columns)
			return nil
		}
		k.passEvent(kept)
	}
}

// passEvent leaves an event behind that no further file can have.
func (k *keptEvents) passEvent(kept retention.Row) {
	switch {
	case !k.found:
		k.sayProblem("event %d stands before the snapshot and is in no file", kept.ID)
	case !k.equal:
		k.sayProblem("event %d in the database is not the one that was archived", kept.ID)
	}
	k.moveOn()
}

// restUnmatched is called after the last file, and tells what did not fit.
func (k *keptEvents) restUnmatched() ([]string, error) {
	for {
		kept, ok, err := k.nextKept()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		k.passEvent(kept)
	}
	if more := k.strange - len(k.said); more > 0 {
		k.said = append(k.said, fmt.Sprintf("and %d more events do not fit", more))
	}
	return k.said, nil
}

func (k *keptEvents) sayProblem(format string, id int64) {
	if k.strange++; k.strange <= mostStrange {
		k.said = append(k.said, fmt.Sprintf(format, id))
	}
}
