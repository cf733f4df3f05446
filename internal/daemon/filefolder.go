package daemon

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/patra-ingest/patra/internal/core/document"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/driver/filecopy"
	"github.com/patra-ingest/patra/internal/engine/executor"
)

// defaultFilesDir returns where files are copied to while they are read, unless an operator says
// otherwise: beside a SQLite file, else where this user keeps what can be fetched again.
func defaultFilesDir(database string) string {
	if dir := besideFile(database, ".files"); dir != "" {
		return dir
	}
	if cache, err := os.UserCacheDir(); err == nil {
		return filepath.Join(cache, "patra", "files")
	}
	return filepath.Join(os.TempDir(), "patra-files")
}

// sweepCopiesIfDue removes copies of files that nobody came back for. Their dates are of this
// machine, so it is asked and not the store.
func (a *App) sweepCopiesIfDue(ctx context.Context) {
	if !a.files.Due(time.Now()) {
		return
	}
	done, err := a.files.Sweep(ctx, time.Now())
	if err != nil && ctx.Err() == nil {
		a.config.Log.Warn("copies of files were not swept", "folder", a.config.FilesDir, "error", err)
	}
	if done.Copies > 0 {
		a.config.Log.Info("copies of files that were left behind are removed", "folder", a.config.FilesDir, "copies", done.Copies, "bytes", done.Bytes)
	}
}

// fileFolder gives the executor the copies of a folder as it wants them.
type fileFolder struct{ *filecopy.Folder }

// Take takes a copy in hand.
func (f fileFolder) Take(key string) (executor.FileCopy, error) {
	c, err := f.Folder.Take(key)
	if err != nil {
		return nil, err
	}
	return fileCopy{c}, nil
}

// fileCopy is one of them.
type fileCopy struct{ *filecopy.Copy }

// Open unpacks it as a stream.
func (c fileCopy) Open(how files.Config, format document.Format) (executor.FileStream, error) {
	s, err := c.Copy.Open(how, format)
	if err != nil {
		return nil, err
	}
	return s, nil
}
