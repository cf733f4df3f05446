// Package maintenance keeps the database small without losing history: it moves
// old events and old plans into files, and removes versions and messages that
// nobody needs any more (§10.7, §13.5). One file a duty. Every duty works in short
// steps and can be stopped or killed between any two of them: the next run goes on.
//
// It must never delete a row before the file that holds it is durable and sealed,
// nor decide by itself that history is old: without a policy it does nothing.
package maintenance

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
)

// CursorEvents is what shortening ledgers needs of the store.
type CursorEvents interface {
	Cursors(ctx context.Context, source string) ([]view.Cursor, error)
	Cursor(ctx context.Context, id int64) (view.Cursor, error)
	OldEvents(ctx context.Context, cursorID int64, before time.Time) (int64, error)
	BeginEventArchive(ctx context.Context, cursorID int64, before time.Time, least int) (retention.Archive, bool, error)
	EventRows(ctx context.Context, a retention.Archive, after int64, limit int) ([]retention.Row, error)
	SealEvents(ctx context.Context, archiveID int64, f retention.File, s retention.Signed) error
}

// Plans is what moving plans needs of the store.
type Plans interface {
	OldPlans(ctx context.Context, before time.Time, after int64, limit int) ([]retention.Plan, error)
	PlanSize(ctx context.Context, id int64) (int64, error)
	BeginPlanArchive(ctx context.Context, plans []int64) (retention.Archive, error)
	PlanTree(ctx context.Context, planID int64, from retention.Table, after int64, limit int) ([]retention.Row, error)
	SealPlans(ctx context.Context, archiveID int64, f retention.File) error
}

// Archives is what both need.
type Archives interface {
	UnfinishedArchives(ctx context.Context) ([]retention.Archive, error)
	NameArchive(ctx context.Context, id int64, name string) (before string, err error)
	DeleteArchived(ctx context.Context, archiveID int64, limit int) (int, error)
	FinishArchive(ctx context.Context, id int64) error
	AbandonArchive(ctx context.Context, id int64) error
}

// Unclaimed is what removing events that nobody asked for needs of the store.
type Unclaimed interface {
	PruneUnclaimed(ctx context.Context, before time.Time, after int64, limit int) (deleted, next int64, end bool, err error)
	OldUnclaimed(ctx context.Context, before time.Time, after int64, limit int) (would, next int64, end bool, err error)
}

// Pruning is what removing needs of the store.
type Pruning interface {
	PruneVersions(ctx context.Context, before time.Time, keep int, after int64, limit int) (done retention.Pruned, next int64, end bool, err error)
	OldVersions(ctx context.Context, before time.Time, keep int, after int64, limit int) (would retention.Pruned, next int64, end bool, err error)
	PruneMessages(ctx context.Context, before time.Time, after int64, limit int) (deleted, next int64, end bool, err error)
	OldMessages(ctx context.Context, before time.Time, after int64, limit int) (would, next int64, end bool, err error)
	PruneSums(ctx context.Context, before time.Time) (deleted int64, err error)
	OldSums(ctx context.Context, before time.Time) (would int64, err error)
}

// Sealing is what giving checksums needs of the store.
type Sealing interface {
	SealBodies(ctx context.Context, limit int) (retention.Checksummed, error)
}

// Upkeep is how runs are kept apart and remembered.
type Upkeep interface {
	Now(ctx context.Context) (time.Time, error)
	AcquireLease(ctx context.Context, name, owner string, ttl time.Duration) (epoch int64, held bool, err error)
	RenewLease(ctx context.Context, name, owner string, epoch int64, ttl time.Duration) error
	ReleaseLease(ctx context.Context, name, owner string, epoch int64) error
	LastUpkeep(ctx context.Context, duty string) (time.Time, error)
	EndUpkeep(ctx context.Context, duty, runKey string, by ingest.Act, did map[string]any) error
}

// Store is all of it.
type Store interface {
	CursorEvents
	Plans
	Archives
	Pruning
	Unclaimed
	Sealing
	Folding
	Measuring
	Checking
	Healing
	Upkeep
	History
}

// Files is where history goes.
type Files interface {
	Write(ctx context.Context, name string, rows iter.Seq2[retention.Row, error]) (retention.File, error)
	// Adopt takes over a file of this name if it holds just these rows.
	Adopt(ctx context.Context, name string, rows iter.Seq2[retention.Row, error]) (f retention.File, same bool, err error)
	Remove(name string) error
	Sweep(name string) error
	// Rows reads a file if it is the one that was sealed.
	Rows(ctx context.Context, sealed retention.File, of *retention.Link, visit func(retention.Row) error) error
	Digest(ctx context.Context, name string) (string, error)
}

// Config is what a process decides.
type Config struct {
	Owner string        // of the lease
	Lease time.Duration // how long it is ours without a sign of life (default 60 s)
	// How much must wait before versions are moved into frames, or small frames joined, in
	// the background (default 20,000 versions, 1,000 frames).
	FoldFrom, RepackFrom int
}

// Service does the duties.
type Service struct {
	store  Store
	files  Files // nil: nothing can be archived
	config Config
	log    *slog.Logger
}

// New makes a service. Without files it can only prune.
func New(s Store, files Files, c Config, log *slog.Logger) *Service {
	if c.Lease == 0 {
		c.Lease = time.Minute
	}
	c.FoldFrom, c.RepackFrom = cmp.Or(c.FoldFrom, worthFolding), cmp.Or(c.RepackFrom, worthJoining)
	return &Service{store: s, files: files, config: c, log: log}
}

// How much one step reads or deletes (D§5.20: no write over 100 ms).
const (
	readAtOnce   = 500
	deleteAtOnce = 500
)
