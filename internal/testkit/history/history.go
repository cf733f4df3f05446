// Package history fills a database with what years of work leave behind: sources, plans,
// slices, tasks, runs, batches, events, coverage, sums, rejects, records and messages.
// Millions of rows are made by the database itself from one real row per source, so ten
// million batches take minutes. Benchmarks and whoever wants to see a page over such a
// history use the same rows.
//
// It must never be used to test what rows mean: they fit together as far as readers look,
// and no further.
package history

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/driver/store"
)

// Size says how much happened.
type Size struct {
	Batches int // ten of them are a run, a hundred runs a plan
	Sources int // applied sources, each with one harvest
	Records int // heads of records, each with an event that was published
	Rejects int // items that came into quarantine; one in ten is undecided
	Years   int // how long ago it began
}

// Usual returns the size of a history with so many batches: of five years, or of one if
// they are few.
func Usual(batches int) Size {
	years := 5
	if batches < 1_000_000 {
		years = 1
	}
	return Size{Batches: batches, Sources: 20, Records: batches / 5, Rejects: batches / 50, Years: years}
}

// What a history is made of.
const (
	BatchesPerRun  = 10
	RunsPerPlan    = 100
	BatchesPerPlan = BatchesPerRun * RunsPerPlan
)

// History is a filled database.
type History struct {
	Size
	Begin, End time.Time // of the work, and of the time it is about
}

// SourceCode returns the code of a source, counted from 1 on. All but the last are read to
// the end; of the last only the first plans are.
func SourceCode(n int) string { return fmt.Sprintf("source-%02d", n) }

// Early returns the source that was not read for years.
func (h History) Early() string { return SourceCode(h.Sources) }

// Stalled returns a source whose watermark stands before a range that failed.
func (h History) Stalled() string { return SourceCode(2) }

// MiddlePlan returns the id of a plan from the middle of the history.
func (h History) MiddlePlan() int64 { return int64(h.Sources + h.plans()/2) }

// LastCursor returns the watermark that the newest runs moved.
func (h History) LastCursor() int64 { return int64(1 + h.plans()%(h.Sources-1)) }

// LastBatch returns the id of the newest batch.
func (h History) LastBatch() int64 { return int64(h.Batches) }

func (h History) plans() int { return h.Batches / BatchesPerPlan }
func (h History) runs() int  { return h.Batches / BatchesPerRun }

// Fill adds a history to an empty, migrated database. The second connection is to the same
// database, with whatever durability is wanted; one is enough.
func Fill(ctx context.Context, s *store.Store, db *sql.DB, size Size) (History, error) {
	now, err := s.Now(ctx)
	if err != nil {
		return History{}, err
	}
	end := now.Truncate(time.Hour)
	f := &filler{ctx: ctx, store: s, db: db, h: History{Size: size, Begin: end.AddDate(-size.Years, 0, 0), End: end}}
	if f.words, err = wordsOf(s.Dialect()); err != nil {
		return f.h, err
	}
	if size.Batches < 2*BatchesPerPlan || size.Batches%BatchesPerPlan != 0 || size.Sources < 3 {
		return f.h, fmt.Errorf("a history needs three sources and whole plans of %d batches, two at least; this has %d sources and %d batches", BatchesPerPlan, size.Sources, size.Batches)
	}
	if err := f.addSources(); err != nil {
		return f.h, fmt.Errorf("fill a history: %w", err)
	}
	if err := f.addRows(); err != nil {
		return f.h, fmt.Errorf("fill a history: %w", err)
	}
	return f.h, nil
}

type filler struct {
	ctx   context.Context
	store *store.Store
	db    *sql.DB
	words words
	h     History
}

func (f *filler) exec(query string, args ...any) error {
	if _, err := f.db.ExecContext(f.ctx, query, args...); err != nil {
		return fmt.Errorf("%.200s: %w", query, err)
	}
	return nil
}
