package planner

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/coverage"
)

// readBootstrap finds out where a first harvest begins whose older records lie in files. It has
// to wait until all of them are read: one that is not could have what nobody would ask for.
func (h harvest) readBootstrap(ctx context.Context, from InputReader, b *Inputs) error {
	s := h.compiled.Snapshot
	if s.Bootstrap == nil || b.watermarkOrNil() != nil {
		return nil
	}
	first, err := s.Bootstrap.Compiled()
	if err != nil {
		return err
	}
	of, err := first.Namespace()
	if err != nil {
		return err
	}
	state, known, err := from.CoverageState(ctx, of)
	if err != nil {
		return err
	}
	next := fmt.Sprintf("patra harvest %s --endpoint %s reads them; what is missing: patra coverage files %s", s.Source, s.Bootstrap.Endpoint, s.Source)
	if !known || state.Cursor.IsZero() || owes(state) {
		b.FilesFirst = fmt.Sprintf("the files of %s are read first, and not all of them are: %s", s.Bootstrap.Endpoint, next)
		return nil
	}
	set, err := from.FileSet(ctx, of)
	if err != nil {
		return err
	}
	at, err := set.AsOf(s.Bootstrap.Files.Take, state.Cursor, s.Bootstrap.Files.Age.Std())
	if err != nil {
		b.FilesFirst = fmt.Sprintf("where the files of %s end is not known: %v", s.Bootstrap.Endpoint, err)
		return nil
	}
	b.Begin = &at
	return nil
}

// owes reports whether something that was wanted was neither read nor waived.
func owes(state coverage.State) bool {
	for _, seg := range state.Segments {
		if !seg.Done() && !seg.Want.IsZero() {
			return true
		}
	}
	return false
}
