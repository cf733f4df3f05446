package maintenance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
)

// History is what looking into archives needs of the store.
type History interface {
	Archives(ctx context.Context, after int64, limit int) ([]retention.Archive, error)
	ArchivesOf(ctx context.Context, cursorID int64) ([]retention.Archive, error)
	Snapshot(ctx context.Context, cursorID, eventID int64) (retention.Signed, error)
	KeptEvents(ctx context.Context, cursorID, after, before int64, limit int) ([]retention.Row, error)
}

// Found is what an archive has of a thing.
type Found struct {
	Archive retention.Archive
	Rows    []retention.Row
}

// mostRows is how much of a thing is shown at once.
const mostRows = 10_000

// Find looks for a thing in all archives that may have it, newest first. A file that is
// damaged or missing hides no other: what the others have comes with the error.
func (s *Service) Find(ctx context.Context, of retention.Link) (out []Found, err error) {
	archives, err := s.sealedArchives(ctx)
	if err != nil {
		return nil, err
	}
	for i := len(archives) - 1; i >= 0; i-- {
		a := archives[i]
		if !a.Lineage.Has(of) {
			continue
		}
		if s.files == nil {
			return nil, fmt.Errorf("%s may be in %s: %w", of, a.Name, errNoFiles)
		}
		if ctx.Err() != nil {
			return out, errors.Join(err, ctx.Err())
		}
		found := Found{Archive: a}
		broken := s.files.Rows(ctx, a.File, &of, func(r retention.Row) error {
			if len(found.Rows) < mostRows {
				found.Rows = append(found.Rows, r)
			}
			return nil
		})
		err = errors.Join(err, broken)
		if broken == nil && len(found.Rows) > 0 {
			out = append(out, found)
		}
	}
	return out, err
}

var errEnough = errors.New("enough")

// Context looks for an archived batch and for what it was done for. fault.ErrNotFound
// means that no archive has it.
func (s *Service) Context(ctx context.Context, batch int64) (out retention.BatchContext, err error) {
	found, err := s.Find(ctx, retention.Link{Level: retention.AtBatch, ID: batch})
	for _, f := range found {
		if f.Rows[0].PlanID == 0 {
			continue
		}
		rows := f.Rows
		for _, up := range []struct {
			table retention.Table
			link  retention.Link
		}{
			{retention.PlanTable, retention.Link{Level: retention.AtPlan, ID: rows[0].PlanID}},
			{retention.SliceTable, retention.Link{Level: retention.AtSlice, ID: rows[0].SliceID}},
			{retention.TaskTable, retention.Link{Level: retention.AtTask, ID: rows[0].TaskID}},
		} {
			err := s.files.Rows(ctx, f.Archive.File, &up.link, func(r retention.Row) error {
				if r.Table != up.table {
					return nil
				}
				rows = append(rows, r)
				return errEnough // a plan may have a hundred thousand rows more
			})
			if err != nil && !errors.Is(err, errEnough) {
				return out, err
			}
		}
		if out, err = retention.ReadContext(rows); err != nil {
			return out, fmt.Errorf("archive %s: %w", f.Archive.Name, err)
		}
		return out, nil
	}
	if err == nil {
		err = fmt.Errorf("batch %d: %w", batch, fault.ErrNotFound)
	}
	return out, err
}

// BatchOf looks for a batch of an archived run by its number in it.
func (s *Service) BatchOf(ctx context.Context, run int64, no int) (id int64, err error) {
	found, err := s.Find(ctx, retention.Link{Level: retention.AtRun, ID: run})
	for _, f := range found {
		for _, r := range f.Rows {
			if r.Table != retention.BatchTable {
				continue
			}
			if b, err := retention.ReadBatch([]retention.Row{r}); err == nil && b.No == no {
				return b.ID, nil
			}
		}
	}
	if err == nil {
		err = fault.ErrNotFound
	}
	return 0, err
}

// sealedArchives returns all archives whose file is whole.
func (s *Service) sealedArchives(ctx context.Context) (out []retention.Archive, err error) {
	after := int64(0)
	for {
		page, err := s.store.Archives(ctx, after, readAtOnce)
		if err != nil {
			return nil, err
		}
		for _, a := range page {
			if after = a.ID; a.Status != retention.Writing {
				out = append(out, a)
			}
		}
		if len(page) < readAtOnce {
			return out, nil
		}
	}
}

// Check holds every file against the hash that the database knows, and says what
// is wrong, by archive.
func (s *Service) Check(ctx context.Context) (archives []retention.Archive, problems map[int64]string, err error) {
	if s.files == nil {
		return nil, nil, errNoFiles
	}
	if archives, err = s.sealedArchives(ctx); err != nil {
		return nil, nil, err
	}
	problems = map[int64]string{}
	for _, a := range archives {
		problem, err := s.findWrong(ctx, a)
		if err != nil {
			return archives, problems, err
		}
		if problem != "" {
			problems[a.ID] = problem
		}
	}
	return archives, problems, nil
}

func (s *Service) findWrong(ctx context.Context, a retention.Archive) (string, error) {
	sum, err := s.files.Digest(ctx, a.Name)
	switch {
	case errors.Is(err, fault.ErrNotFound), errors.Is(err, fault.ErrInvalid):
		return fmt.Sprintf("file %s is missing", a.Name), nil
	case err != nil:
		return "", err
	case sum != a.SHA256:
		return fmt.Sprintf("file %s was changed: its hash is %s, sealed was %s", a.Name, sum, a.SHA256), nil
	}
	return "", nil
}

// VerifyArchivedEvents refolds what a cursor's ledger has in files, from its first event
// to the snapshot that stands for all of it, and says what does not fit (C§4). The
// rest of the ledger is verified by the store, from that snapshot on.
func (s *Service) VerifyArchivedEvents(ctx context.Context, c view.Cursor) (events int, problems []string, err error) {
	archives, err := s.store.ArchivesOf(ctx, c.ID)
	if err != nil || len(archives) == 0 {
		return 0, nil, err
	}
	if s.files == nil {
		return 0, nil, errNoFiles
	}
	last := archives[len(archives)-1]
	v := verifying{replay: retention.Replay{Line: ingest.CursorType(c.Type)}, kept: s.keptEvents(ctx, c.ID, last.To)}
	for i, a := range archives {
		problem, err := s.findWrong(ctx, a)
		if err != nil {
			return 0, nil, err
		}
		if problem != "" {
			v.noteProblem("%s", problem)
			v.broken = true
			continue
		}
		if i > 0 {
			v.before = &archives[i-1]
		}
		if err := s.files.Rows(ctx, a.File, nil, v.addRow); err != nil {
			return 0, nil, err
		}
	}
	signed, err := s.store.Snapshot(ctx, c.ID, last.To)
	switch {
	case errors.Is(err, fault.ErrNotFound), errors.Is(err, fault.ErrInvalid):
		v.noteProblem("the snapshot at event %d is missing or damaged", last.To)
	case err != nil:
		return 0, nil, err
	case !v.broken && !sameLedger(v.replay.CursorState, signed.CursorState):
		v.noteProblem("the files fold to %s, the snapshot at event %d says %s", ledgerText(v.replay.CursorState), last.To, ledgerText(signed.CursorState))
	}
	strange, err := v.kept.restUnmatched()
	if err != nil {
		return 0, nil, err
	}
	return v.replay.Events, slices.Concat(v.replay.Problems, v.problems, strange), nil
}

// verifying is one refold of files.
type verifying struct {
	replay   retention.Replay
	kept     *keptEvents // events that are in the database too
	before   *retention.Archive
	broken   bool // a file is missing: what follows starts at a snapshot
	problems []string
}

func (v *verifying) noteProblem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (v *verifying) addRow(row retention.Row) error {
	e, err := retention.ReadEntry(row, v.replay.Line)
	if err != nil {
		v.noteProblem("%v", err)
		return v.kept.meetRow(row)
	}
	if e.Kind == coverage.Snapshot && e.Signed != nil {
		if !v.broken && !sameLedger(v.replay.CursorState, e.Signed.CursorState) {
			v.noteProblem("the files fold to %s, the snapshot at event %d says %s", ledgerText(v.replay.CursorState), e.ID, ledgerText(e.Signed.CursorState))
		}
		if v.before != nil && e.Signed.Signature != v.before.Signature {
			v.noteProblem("the snapshot at event %d is not the one that archive %d was sealed with", e.ID, v.before.ID)
		}
	}
	v.replay.Add(e)
	if e.Kind == coverage.Snapshot {
		v.replay.Events-- // it stands for events that were counted
		v.broken = false
	}
	return v.kept.meetRow(row)
}

// sameLedger compares by what is written: a fold and a snapshot that was read may hold
// the same instants in different forms.
func sameLedger(a, b retention.CursorState) bool { return ledgerText(a) == ledgerText(b) }

func ledgerText(l retention.CursorState) string {
	if len(l.State.Segments) == 0 {
		l.State.Segments = []coverage.Segment{}
	}
	out, err := json.Marshal(l)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// sameColumns compares the columns that a row had when it was archived: the table
// may have got others since.
func sameColumns(archived, now []byte) bool {
	if bytes.Equal(archived, now) {
		return true
	}
	var was, is map[string]any
	if json.Unmarshal(archived, &was) != nil || json.Unmarshal(now, &is) != nil {
		return false
	}
	for column, value := range was {
		if !reflect.DeepEqual(value, is[column]) {
			return false
		}
	}
	return true
}
