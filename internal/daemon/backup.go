package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/integrity"
	"github.com/patra-ingest/patra/internal/driver/disk"
	"github.com/patra-ingest/patra/internal/driver/durable"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

// Backup is what became of a copy of the database.
type Backup struct {
	File    string           `json:"file"` // empty: the copy is damaged, and was removed
	Bytes   int64            `json:"bytes"`
	Checked integrity.Report `json:"checked"`
}

// partOf is where a copy lies until it was checked. What a killed backup left there is
// replaced by the next.
func partOf(file string) string { return file + ".part" }

// BackUp copies the database into a file, as it is at one instant, while other processes go
// on. The copy is checked whole, as `patra db check` does it, before it gets its name: a
// file of that name is always good.
func (a *App) BackUp(ctx context.Context, file string, replace bool, tell func(CheckProgress)) (out Backup, err error) {
	path, local := strings.CutPrefix(a.config.Database, "sqlite:")
	if !local {
		return out, fmt.Errorf("%w: patra db backup copies a database in a file; back up a server with its own tools, for example `mariadb-dump --single-transaction DATABASE`", fault.ErrInvalid)
	}
	if err := checkBackup(path, file, replace); err != nil {
		return out, err
	}
	part := partOf(file)
	if err := clearPart(part); err != nil {
		return out, err
	}
	defer func() {
		if out.File == "" {
			err = errors.Join(err, clearPart(part))
		}
	}()
	if err := copyPrivately(ctx, path, part); err != nil {
		return out, fmt.Errorf("copy the database to %s: %w", file, Advise(err))
	}
	if out.Checked, err = checkCopy(ctx, a.config, part, tell); err != nil || out.Checked.Total() > 0 {
		return out, err
	}
	if err := sqlite.EndLog(ctx, part); err != nil { // checking it began one
		return out, err
	}
	if out.Bytes, err = publishPart(part, file); err != nil {
		return out, err
	}
	out.File = file
	return out, nil
}

// checkBackup refuses a place that a copy must not or cannot take.
func checkBackup(path, file string, replace bool) error {
	from, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := refuseOwnFiles(path, file); err != nil {
		return err
	}
	switch to, err := os.Stat(file); {
	case err == nil && to.IsDir():
		return fmt.Errorf("%w: %s is a folder: name a file in it", fault.ErrInvalid, file)
	case err == nil && !replace:
		return fmt.Errorf("%w: %s is there already: name another file, or add --force to replace it", fault.ErrInvalid, file)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := refuseLeftLog(file); err != nil {
		return err
	}
	room, err := disk.At(file)
	if err != nil {
		return nil // it cannot be told; a disk that gets full is
	}
	return refuseFullDisk(file, room, from.Size())
}

// refuseFullDisk refuses a disk that has no room for a copy.
func refuseFullDisk(file string, room disk.Room, size int64) error {
	if int64(room.Free) >= size {
		return nil
	}
	return fmt.Errorf("%w: the disk of %s has %d MB free, the database takes %d MB: make room there, or name a file on another disk", fault.ErrFull, file, room.Free>>20, size>>20)
}

// besideOf are the files that SQLite keeps beside a database.
func besideOf(file string) []string { return []string{file + "-wal", file + "-shm", file + "-journal"} }

// refuseOwnFiles refuses a name by which a copy, finished or not, would replace the database
// itself or what SQLite keeps beside it.
func refuseOwnFiles(path, file string) error {
	own, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	part := partOf(file)
	for _, taken := range slices.Concat([]string{file, part}, besideOf(file), besideOf(part)) {
		switch mine := slices.IndexFunc(append(besideOf(own), own), func(mine string) bool { return isSameFile(mine, taken) }); {
		case mine < 0:
		case taken == file && mine == len(besideOf(own)):
			return fmt.Errorf("%w: %s is the database itself", fault.ErrInvalid, file)
		default:
			return fmt.Errorf("%w: a copy named %s would take %s, which is a part of the database itself: name another file", fault.ErrInvalid, file, taken)
		}
	}
	return nil
}

// isSameFile reports that two names lead to one file, or would if it was there.
func isSameFile(a, b string) bool {
	found, errA := os.Stat(a)
	other, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(found, other)
	}
	return placeOf(a) == placeOf(b)
}

// placeOf is the name of a file that is perhaps not there, without links in the folders above.
func placeOf(file string) string {
	if whole, err := filepath.Abs(file); err == nil {
		file = whole
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(folder, filepath.Base(file))
	}
	return file
}

// refuseLeftLog refuses a name beside which a log lies, also where the file is to be replaced:
// SQLite would write the log into the copy. It is not removed here: after a kill in between the
// old file would be left without it, and the newest of what it held would be lost.
func refuseLeftLog(file string) error {
	for _, name := range besideOf(file) {
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		return fmt.Errorf("%w: %s belongs to a database that is or was at %s, and would destroy the copy: end all programs that use that database, remove what is left with `rm -f '%s'`, then run the command again; or name another file",
			fault.ErrInvalid, name, file, strings.Join(besideOf(file), "' '"))
	}
	return nil
}

// clearPart removes an unfinished copy, and what SQLite keeps beside it.
func clearPart(part string) (err error) {
	for _, name := range append(besideOf(part), part) {
		if removed := os.Remove(name); !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return err
}

// copyPrivately copies into a file that its owner alone can read: it holds records with
// people in them.
func copyPrivately(ctx context.Context, path, part string) error {
	made, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	return sqlite.BackUp(ctx, path, part)
}

// checkCopy checks a copy as a database of its own.
func checkCopy(ctx context.Context, c Config, part string, tell func(CheckProgress)) (report integrity.Report, err error) {
	c.Database, c.MustExist, c.Raw, c.Archive = "sqlite:"+part, true, RawConfig{Off: true}, ArchiveConfig{}
	copied, err := Open(ctx, c)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	upkeep, err := copied.Maintenance()
	if err != nil {
		return report, err
	}
	return upkeep.CheckDatabase(ctx, tell)
}

// publishPart gives a copy its name when all of it is on the disk.
func publishPart(part, file string) (bytes int64, err error) {
	whole, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	found, err := whole.Stat()
	if err == nil {
		err = whole.Sync()
	}
	if err = errors.Join(err, whole.Close()); err != nil {
		return 0, err
	}
	if err := refuseLeftLog(file); err != nil { // what came while the copy was checked
		return 0, err
	}
	if err := os.Rename(part, file); err != nil {
		return 0, err
	}
	return found.Size(), durable.SyncFolder(filepath.Dir(file))
}
