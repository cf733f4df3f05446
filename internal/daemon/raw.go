package daemon

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/blob"
	"github.com/patra-ingest/patra/internal/engine/executor"
)

// RawConfig says where the bodies of answers are kept, and how long (D§5.24).
type RawConfig struct {
	Off bool
	// Dir has a default only beside a SQLite file: a folder of this machine says
	// nothing to the other processes of a server's database.
	Dir      string
	KeepFor  time.Duration // default 30 days
	MaxBytes int64         // default 10 GB
	// Whole keeps whole answers, also of items that are stored with their batch.
	Whole bool
}

// What is kept unless an operator says otherwise.
const (
	RawKeepFor  = 30 * 24 * time.Hour
	RawMaxBytes = 10_000_000_000
)

func (c RawConfig) withDefaults(database string) RawConfig {
	c.Dir = cmp.Or(c.Dir, besideFile(database, ".raw"))
	if c.KeepFor == 0 {
		c.KeepFor = RawKeepFor
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = RawMaxBytes
	}
	return c
}

// openRaw opens the store of bodies; nil where none are kept. A file stays longer
// than any commit that refers to it can take.
func openRaw(c Config) (*blob.Store, error) {
	if c.Raw.Off || c.Raw.Dir == "" {
		return nil, nil
	}
	return blob.Open(c.Raw.Dir, blob.Options{Grace: max(10*time.Minute, 2*c.Lease)})
}

// keptBodies returns what the executor keeps bodies in; nil keeps none.
func (a *App) keptBodies() executor.Bodies {
	if a.raw == nil {
		return nil
	}
	return a.answers()
}

// answers returns what reads kept answers.
func (a *App) answers() *answers { return &answers{a.store, a.raw} }

// Bodies gives the bodies of answers that were kept.
type Bodies struct {
	kept   *answers
	config RawConfig
}

// Notice says that bodies are not kept although no setting switched that off.
func (b *Bodies) Notice() string {
	if b.kept.files != nil || b.config.Off {
		return ""
	}
	return "bodies of answers are not kept: name a folder for them with --raw-dir or PATRA_RAW_DIR, on a disk that all machines see, or say --no-raw"
}

// Read reads the body of an answer. fault.ErrNotFound means that it was swept.
func (b *Bodies) Read(ctx context.Context, ref string) ([]byte, error) { return b.kept.Get(ctx, ref) }

// Measure tells the room that a body takes; lean says that its items are not in it.
func (b *Bodies) Measure(ctx context.Context, ref string) (bytes int64, lean bool, err error) {
	return b.kept.measure(ctx, ref)
}

// Dir returns where bodies are kept.
func (b *Bodies) Dir() string { return b.config.Dir }

// HasDir reports whether that folder is there.
func (b *Bodies) HasDir() bool { return isThere(b.config.Dir) }

var errNoRawDir = fmt.Errorf("%w in the database, and no folder of raw bodies is known: name it with --raw-dir or PATRA_RAW_DIR", fault.ErrNotFound)

// rawRoom tells how much room the bodies take; nil where none are kept, or nobody has
// counted them yet.
func (a *App) rawRoom() *view.RawRoom {
	if a.raw == nil {
		return nil
	}
	bytes, known := a.raw.Kept()
	if !known {
		return nil
	}
	return &view.RawRoom{Dir: a.config.Raw.Dir, Bytes: bytes, Limit: a.config.Raw.MaxBytes}
}

// readyRaw finds out before work begins that bodies cannot be kept.
func (a *App) readyRaw() error {
	if a.raw == nil {
		return nil
	}
	return a.raw.Ready()
}

// How often a process that works looks whether its bodies have become too many,
// and how long the end of a harvest may take for them.
const (
	rawLook = time.Minute
	rawTidy = 5 * time.Second
)

// sweepFolders keeps the bodies within their limits while this process works, and removes
// copies of files that were left behind. A sweep that fails is tried again; work goes on.
func (a *App) sweepFolders(ctx context.Context) {
	ticker := time.NewTicker(rawLook)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			a.removeOldAnswers(ctx)
			a.sweepRawIfDue(ctx)
			a.sweepCopiesIfDue(ctx)
		}
	}
}

// tidyFolders sweeps a little when a harvest ends: from cron, no process lives long
// enough to do it otherwise.
func (a *App) tidyFolders(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rawTidy)
	defer cancel()
	a.removeOldAnswers(ctx)
	a.sweepRawIfDue(ctx)
	a.sweepCopiesIfDue(ctx)
}

// The files have the time of this machine, so it is asked and not the store.
func (a *App) sweepRawIfDue(ctx context.Context) {
	limits := a.config.Raw
	if a.raw == nil || !a.raw.Due(time.Now(), limits.MaxBytes) {
		return
	}
	done, err := a.raw.Sweep(ctx, time.Now(), limits.KeepFor, limits.MaxBytes)
	if err != nil && ctx.Err() == nil {
		a.config.Log.Warn("raw bodies were not swept", "error", err)
	}
	if done.Files > 0 {
		a.config.Log.Info("raw bodies swept", "files", done.Files, "bytes", done.Bytes, "left", done.Left)
	}
}
