package look

import (
	"context"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Beginning is where a refold begins: at the newest snapshot of a ledger, else
// before its first event.
type Beginning struct {
	retention.CursorState
	Event    int64
	Problems []string // the snapshot cannot be trusted
}

// LedgerStart reads the newest snapshot of a cursor's ledger and holds it against
// its signature and against what the archive's own row says of it.
func (s *Look) LedgerStart(ctx context.Context, c view.Cursor) (start Beginning, err error) {
	archives, err := s.ArchivesOf(ctx, c.ID)
	if err != nil || len(archives) == 0 {
		return start, err
	}
	a := archives[len(archives)-1]
	start.Event = a.To
	signed, err := s.Snapshot(ctx, c.ID, a.To)
	switch {
	case errors.Is(err, fault.ErrNotFound), errors.Is(err, fault.ErrInvalid):
		start.Problems = append(start.Problems, fmt.Sprintf("the snapshot at event %d is missing or damaged: the events before it are in %s", a.To, a.Name))
		return start, nil
	case err != nil:
		return start, err
	}
	start.CursorState = signed.CursorState
	if err := signed.Check(); err != nil {
		start.Problems = append(start.Problems, err.Error())
	}
	if want := retention.Namespace(c.Source, c.Operation, c.Key, c.Scope, c.NamespaceKey); signed.Cursor != want {
		start.Problems = append(start.Problems, fmt.Sprintf("the snapshot at event %d is of the ledger %q", a.To, signed.Cursor))
	}
	if signed.Signature != a.Signature || signed.SHA256 != a.SHA256 || signed.File != a.Name {
		start.Problems = append(start.Problems, fmt.Sprintf("the snapshot at event %d and archive %d tell of different files", a.To, a.ID))
	}
	start.Problems = append(start.Problems, checkChain(archives)...)
	return start, nil
}

// checkChain holds the signatures of a ledger's archives against each other.
func checkChain(archives []retention.Archive) (problems []string) {
	before := ""
	for _, a := range archives {
		if a.Previous != before {
			problems = append(problems, fmt.Sprintf("archive %d does not follow the one before it: one is missing or was changed", a.ID))
		}
		before = a.Signature
	}
	return problems
}
