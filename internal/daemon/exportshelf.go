package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/durable"
)

// shelf makes and keeps the files of exports that were asked for: each in a folder of its own,
// whose name is made here (R6). Nothing outside of its folder is ever opened.
type shelf struct {
	app *App
	dir string
}

// folderName is what all folders are called: by the number of the export and the name under
// which a process took it. Another database that shares the place has other names.
var folderName = regexp.MustCompile(`^export-(\d{1,18})-([a-z2-7]{16})$`)

func folderOf(j export.Job) string { return fmt.Sprintf("export-%d-%s", j.ID, j.Claim) }

// openDir opens the place of the folders, and makes it if need be.
func (s *shelf) openDir() (*os.Root, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of exports: %w", err)
	}
	return os.OpenRoot(s.dir)
}

// Make writes the file of an export.
func (s *shelf) Make(ctx context.Context, j export.Job, tell func(export.JobProgress)) (export.JobEnd, error) {
	root, err := s.openDir()
	if err != nil {
		return export.JobEnd{}, err
	}
	defer func() { _ = root.Close() }() // it was only read
	if err := root.Mkdir(folderOf(j), 0o700); err != nil {
		return export.JobEnd{}, fmt.Errorf("folder of exports: %w", err)
	}
	if err := durable.SyncRoot(root); err != nil {
		return export.JobEnd{}, err
	}
	write := s.packBox
	if j.Kind == export.JobData {
		write = func(ctx context.Context, j export.Job) (export.JobEnd, error) { return s.writeRecords(ctx, j, tell) }
	}
	end, err := write(ctx, j)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fmt.Errorf("%w: %w", fault.ErrFull, err)
	}
	return end, err
}

// writeRecords exports records as `patra data export` does.
func (s *shelf) writeRecords(ctx context.Context, j export.Job, tell func(export.JobProgress)) (end export.JobEnd, err error) {
	order, err := j.Question.Order(j.Source, j.Endpoint)
	if err != nil {
		return end, err
	}
	folder := filepath.Join(s.dir, folderOf(j))
	done, err := s.app.ExportData(ctx, DataExport{Order: order, Out: folder, Program: s.app.config.Entrance.Version}, func(p ExportProgress) {
		tell(export.JobProgress{Records: p.Records, Share: p.Share, Bytes: sizeOf(folder)})
	})
	if err != nil {
		return end, err
	}
	if len(done.Files) != 1 {
		return end, fmt.Errorf("an export has %d files instead of one", len(done.Files))
	}
	file := done.Files[0]
	return export.JobEnd{Records: done.Records, Bytes: file.Bytes, File: file.Name, SHA256: file.SHA256, Cursor: done.Cursor}, nil
}

// sizeOf sums up the files of a folder; what cannot be looked at counts nothing.
func sizeOf(folder string) (sum int64) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// boxName is the file of a black box.
const boxName = "blackbox.zip"

// packBox writes the black box of a batch as `patra batch export` does: the audit log has it
// before the file exists.
func (s *shelf) packBox(ctx context.Context, j export.Job) (end export.JobEnd, err error) {
	use, err := j.Question.Use()
	if err != nil {
		return end, err
	}
	now, err := s.app.Now(ctx)
	if err != nil {
		return end, err
	}
	folder := filepath.Join(s.dir, folderOf(j))
	unfinished := filepath.Join(folder, "."+boxName+".partial")
	done, err := s.app.Replays.Export(ctx, BatchRef{BatchID: j.Question.Batch}, Export{
		By: ingest.Act{Actor: j.Actor, Reason: j.Reason}, Path: func(blackbox.Manifest) string { return unfinished }, Expires: use, At: now, Remote: true,
	})
	if err != nil {
		return end, err
	}
	content, err := os.ReadFile(unfinished)
	if err != nil {
		return end, err
	}
	sum := sha256.Sum256(content)
	if err := os.Rename(unfinished, filepath.Join(folder, boxName)); err != nil {
		return end, err
	}
	return export.JobEnd{Bytes: int64(len(content)), File: boxName, SHA256: hex.EncodeToString(sum[:]), Seal: done.Manifest.Seal}, durable.SyncFolder(folder)
}

// Remove removes the folder of an export.
func (s *shelf) Remove(j export.Job) error {
	if j.Claim == "" {
		return nil // nobody took it, so it has none
	}
	root, err := s.openDir()
	if err != nil {
		return err
	}
	return errors.Join(root.RemoveAll(folderOf(j)), root.Close())
}

// Open opens the whole file of an export.
func (s *shelf) Open(j export.Job) (io.ReadSeekCloser, error) {
	root, err := s.openDir()
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // files that were opened stay open
	file, err := root.Open(filepath.Join(folderOf(j), j.File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: the file of export %d is not on this machine: ask the process that made it, or give all of them one folder (exports.dir of patra.yaml)", fault.ErrNotFound, j.ID)
	}
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || info.Size() != j.Bytes {
		_ = file.Close()
		return nil, errors.Join(err, fmt.Errorf("the file of export %d has another size than it was written with", j.ID))
	}
	return file, nil
}

// Sweep removes the folders of exports that have no file any more: expired, cancelled, failed.
// One that this database knows nothing of may be that of another, and stays until every export
// would have expired.
func (s *shelf) Sweep(ctx context.Context, now time.Time) (err error) {
	root, err := s.openDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		parts := folderName.FindStringSubmatch(e.Name())
		if parts == nil || !e.IsDir() {
			continue
		}
		id, err := strconv.ParseInt(parts[1], 10, 64)
		if err != nil {
			return err
		}
		over, err := s.isOver(ctx, id, parts[2], e, now)
		if err != nil {
			return err
		}
		if over {
			if err := root.RemoveAll(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// isOver reports whether nobody needs a folder.
func (s *shelf) isOver(ctx context.Context, id int64, claim string, folder fs.DirEntry, now time.Time) (bool, error) {
	j, err := s.app.store.Export(ctx, id)
	if err != nil && !errors.Is(err, fault.ErrNotFound) {
		return false, err
	}
	if err == nil && j.Claim == claim {
		return j.Removable(now), nil
	}
	info, err := folder.Info()
	return err == nil && now.Sub(info.ModTime()) > export.LongestKeep+24*time.Hour, nil
}
