package maintenance

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Checking is what a check needs of the store.
type Checking interface {
	RowChecker
	CheckRecorder
	CheckPages(ctx context.Context) ([]integrity.Damage, error)
	Verify(ctx context.Context, cursorID int64) (view.Verdict, error)
}

// RowChecker goes through the rows of the database. Each look is short and reads a
// bounded number of them. Pruned tells whether versions of records were ever removed,
// so that counts of them may differ.
type RowChecker interface {
	CheckBodies(ctx context.Context, after int64, proven *integrity.Proven) (integrity.Part, int64, error)
	CheckHeads(ctx context.Context, dataset int64, after []byte, proven *integrity.Proven) (integrity.Part, int64, []byte, error)
	CheckCounts(ctx context.Context, after int64, pruned bool) (integrity.Part, int64, error)
	CheckRuns(ctx context.Context, after int64) (integrity.Part, int64, error)
	CheckRejects(ctx context.Context, after int64) (integrity.Part, int64, error)
	Pruned(ctx context.Context) (bool, error)
}

// CheckRecorder notes that a check came to its end, and that maintenance has to seal
// bodies again.
type CheckRecorder interface {
	EndCheck(ctx context.Context, found int64) error
	RecallSeal(ctx context.Context) error
}

// CheckProgress is how far a check has come.
type CheckProgress struct {
	Step   integrity.Step
	Looked int64
	Found  int64
}

// CheckDatabase goes through the whole database: its structure, every version of every record,
// records against versions, counts, quarantine and watermarks. A part that fails
// because of damage is a finding, and the other parts are looked at all the same. That
// it came to its end is noted, with how much it found.
func (s *Service) CheckDatabase(ctx context.Context, tell func(CheckProgress)) (r integrity.Report, err error) {
	c := checking{store: s.store, report: &r, tell: tell}
	if r.StartedAt, err = s.store.Now(ctx); err != nil {
		return r, err
	}
	for _, part := range []struct {
		step integrity.Step
		do   func(context.Context) error
	}{
		{integrity.StepPages, c.checkPages}, {integrity.StepBodies, c.checkBodies}, {integrity.StepHeads, c.checkHeads}, {integrity.StepCounts, c.checkCounts}, {integrity.StepRuns, c.runs},
		{integrity.StepRejects, c.checkRejects}, {integrity.StepCursors, c.checkCursors},
	} {
		c.step, c.looked = part.step, 0
		if err := part.do(ctx); ctx.Err() != nil {
			return r, ctx.Err()
		} else if err != nil {
			r.Add(integrity.Damage{Kind: integrity.Missing, Where: string(part.step), Text: "this part could not be checked to its end: " + err.Error()})
		}
	}
	if r.FinishedAt, err = s.store.Now(ctx); err != nil {
		return r, err
	}
	return r, s.endCheck(ctx, &r)
}

// endCheck notes the end of a check. In a database that takes nothing any more, the
// findings must be told all the same.
func (s *Service) endCheck(ctx context.Context, r *integrity.Report) error {
	err := s.store.EndCheck(ctx, r.Total())
	if err == nil && r.Unsealed > 0 {
		err = s.store.RecallSeal(ctx)
	}
	if err != nil && r.Total() > 0 && ctx.Err() == nil {
		s.log.Warn("the end of the check could not be noted", "error", err)
		return nil
	}
	return err
}

// checking is one check.
type checking struct {
	store  Store
	report *integrity.Report
	tell   func(CheckProgress)
	step   integrity.Step
	looked int64
	proven integrity.Proven // by the look at versions, for the one at records
}

// addPart takes one look.
func (c *checking) addPart(ctx context.Context, part integrity.Part) error {
	c.report.Add(part.Found...)
	c.looked += part.Looked
	if c.tell != nil {
		c.tell(CheckProgress{c.step, c.looked, c.report.Total()})
	}
	return ctx.Err()
}

func (c *checking) checkPages(ctx context.Context) error {
	found, err := c.store.CheckPages(ctx)
	if err != nil {
		return err
	}
	return c.addPart(ctx, integrity.Part{Found: found})
}

func (c *checking) checkBodies(ctx context.Context) error {
	for next, end := int64(-1), false; !end; {
		var part integrity.Part
		var err error
		if part, next, err = c.store.CheckBodies(ctx, next, &c.proven); err != nil {
			return err
		}
		c.report.Versions, c.report.Unsealed, end = c.report.Versions+part.Looked, c.report.Unsealed+part.Unsealed, part.End
		if err := c.addPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (c *checking) checkHeads(ctx context.Context) error {
	var dataset int64
	var next []byte
	for end := false; !end; {
		var part integrity.Part
		var err error
		if part, dataset, next, err = c.store.CheckHeads(ctx, dataset, next, &c.proven); err != nil {
			return err
		}
		c.report.Records, end = c.report.Records+part.Looked, part.End
		if err := c.addPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (c *checking) checkCounts(ctx context.Context) error {
	pruned, err := c.store.Pruned(ctx)
	if err != nil {
		return err
	}
	for next, end := int64(0), false; !end; {
		var part integrity.Part
		if part, next, err = c.store.CheckCounts(ctx, next, pruned); err != nil {
			return err
		}
		c.report.Batches, end = c.report.Batches+part.Looked, part.End
		if err := c.addPart(ctx, part); err != nil {
			return err
		}
	}
	c.report.Uncounted, err = c.store.Pruned(ctx) // it may have begun meanwhile
	return err
}

func (c *checking) runs(ctx context.Context) error {
	for next, end := int64(0), false; !end; {
		var part integrity.Part
		var err error
		if part, next, err = c.store.CheckRuns(ctx, next); err != nil {
			return err
		}
		c.report.Runs, end = c.report.Runs+part.Looked, part.End
		if err := c.addPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (c *checking) checkRejects(ctx context.Context) error {
	for next, end := int64(0), false; !end; {
		var part integrity.Part
		var err error
		if part, next, err = c.store.CheckRejects(ctx, next); err != nil {
			return err
		}
		c.report.Rejects, end = c.report.Rejects+part.Looked, part.End
		if err := c.addPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

func (c *checking) checkCursors(ctx context.Context) error {
	all, err := c.store.Cursors(ctx, "")
	if err != nil {
		return err
	}
	for _, cursor := range all {
		v, err := c.store.Verify(ctx, cursor.ID)
		if err != nil {
			return err
		}
		part := integrity.Part{Looked: 1}
		for _, p := range v.Problems {
			part.Found = append(part.Found, integrity.Damage{Kind: integrity.Cursor, Where: fmt.Sprintf("watermark %d (%s %s)", cursor.ID, cursor.Source, cursor.Operation), Text: p})
		}
		c.report.Cursors++
		if err := c.addPart(ctx, part); err != nil {
			return err
		}
	}
	return nil
}
