package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// logLimits say, in pages, when the write-ahead log is emptied.
type logLimits struct {
	// behind is how much of the log may be missing from the file before it is copied.
	behind int
	// longest is how long the log may be before it starts over. A log shorter than the
	// database file keeps growing, up to this.
	longest int
}

// At twice longest the writer empties the log itself.
var usualLimits = logLimits{behind: 16_000, longest: 64_000}

// logCopier copies the write-ahead log into the file while the writer goes on (decision 166). It has a
// connection of its own, so that a commit does not wait for the disk behind thousands of
// pages that lie all over a large file.
type logCopier struct {
	path   string
	db     *sql.DB
	limits logLimits
	wake   chan struct{}
	begin  sync.Once
	end    context.CancelFunc // nil before the first commit
	ended  sync.WaitGroup
	// tooLong asks the next commit to copy the rest: beside a busy writer the copier never
	// catches up, and only a log that is copied whole starts over.
	tooLong atomic.Bool
	tell    *slog.Logger
	failing atomic.Bool // the last copy failed, and people were told
}

func newLogCopier(path, source string, limits logLimits, tell *slog.Logger) (*logCopier, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return &logCopier{path: path, db: db, limits: limits, wake: make(chan struct{}, 1), tell: tell}, nil
}

// noteCommit is called after each commit, before another transaction begins. If it fails, the log
// only grows: a later commit tries again, and in the end the writer itself.
func (c *logCopier) noteCommit() {
	c.begin.Do(func() {
		ctx, end := context.WithCancel(context.Background())
		c.end = end
		c.ended.Go(func() { c.serve(ctx) })
	})
	c.copyRest()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// copyRest copies what is left of a log that is too long, while nobody writes. A reader or another
// process may keep it from being copied whole: then a later commit is asked again.
func (c *logCopier) copyRest() {
	if c.tooLong.CompareAndSwap(true, false) {
		_, err := c.checkpoint(context.Background(), "PASSIVE")
		c.tellOutcome(err)
	}
}

// serve looks at the log after commits, until it is ended.
func (c *logCopier) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			_ = c.copyIfBehind(ctx) // the next commit asks again
		}
	}
}

// tellOutcome is called after each copy. It says once that the log cannot be copied, and once that
// it can be again. SQLite itself says nothing of it: commits go on, and the log takes the whole
// disk.
func (c *logCopier) tellOutcome(err error) {
	if errors.Is(err, fault.ErrBusy) {
		return // somebody else copies
	}
	switch failed := err != nil; {
	case failed == c.failing.Swap(failed):
	case failed:
		c.tell.Warn("the database's write-ahead log cannot be copied into its file: nothing is lost, but the log grows until the disk is full; it is tried again after each commit. Check the disk of the database for errors and free space",
			"log", c.path+"-wal", "error", err)
	default:
		c.tell.Info("the database's write-ahead log is copied again", "log", c.path+"-wal")
	}
}

// copyIfBehind copies the log if much of it is missing from the file, and asks the next commit
// for the rest if the log is too long.
func (c *logCopier) copyIfBehind(ctx context.Context) error {
	if c.tooLong.Load() {
		return nil // the next commit copies, and is not to wait for this
	}
	log, err := c.checkpoint(ctx, "NOOP")
	if err == nil && log.pages-log.copied >= c.limits.behind {
		if log, err = c.checkpoint(ctx, "PASSIVE"); err == nil {
			err = syncFile(c.path)
		}
		if ctx.Err() == nil {
			c.tellOutcome(err)
		}
	}
	if err != nil || log.pages < c.limits.behind {
		return err
	}
	var file int
	if err := c.db.QueryRowContext(ctx, "PRAGMA page_count").Scan(&file); err != nil {
		return translateError(err)
	}
	if log.pages >= min(c.limits.longest, file) && log.pages-log.copied < c.limits.behind { // else a reader is in the way, and much would be left to the commit
		c.tooLong.Store(true)
	}
	return nil
}

// logState is how long the log is, and how much of it the file has.
type logState struct{ pages, copied int }

// checkpoint copies as much of the log as open readers allow (PASSIVE), or only looks (NOOP).
func (c *logCopier) checkpoint(ctx context.Context, mode string) (log logState, err error) {
	var busy bool // another process does it
	err = c.db.QueryRowContext(ctx, "PRAGMA wal_checkpoint("+mode+")").Scan(&busy, &log.pages, &log.copied)
	if err != nil {
		return log, fmt.Errorf("empty the log: %w", translateError(err))
	}
	return log, nil
}

// close ends the copying. What is not yet copied is copied when the last connection closes.
func (c *logCopier) close() error {
	c.begin.Do(func() {}) // nobody begins after this
	if c.end != nil {
		c.end()
		c.ended.Wait()
		c.tooLong.Store(false) // a commit that ends now has nothing to copy with
	}
	return c.db.Close()
}

// kept are the files that were synced, by their paths. They are never closed: on closing one,
// the system would drop the locks that SQLite has on the same file in this process.
var kept struct {
	sync.Mutex
	open map[string]*os.File
}

// syncFile waits until the disk has what was copied into a file. SQLite itself syncs only when the log is
// copied whole, which is while the writer waits: this leaves it little to do.
func syncFile(path string) error {
	file, err := keepOpen(path)
	if err != nil {
		return err
	}
	return file.Sync()
}

// keepOpen opens a file once. A second one would be closed when it is collected.
func keepOpen(path string) (file *os.File, err error) {
	kept.Lock()
	defer kept.Unlock()
	if file = kept.open[path]; file != nil {
		return file, nil
	}
	if file, err = os.Open(path); err != nil {
		return nil, err
	}
	if kept.open == nil {
		kept.open = map[string]*os.File{}
	}
	kept.open[path] = file
	return file, nil
}
