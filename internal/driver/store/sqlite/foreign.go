package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// refuseForeignLog refuses a file beside which the log of another database lies, as it does
// when a copy was put in the place of a database whose last process was killed. SQLite cannot
// tell: it would write the old log into the copy, and so destroy it.
//
// A file gets a log of its own only after its header says so. A copy that was never in use
// has no such header, and a file without content has none at all.
func refuseForeignLog(ctx context.Context, path string) error {
	target, err := filepath.EvalSymlinks(path) // SQLite keeps the log beside the file a link leads to
	if err != nil {
		return nil // opening tells
	}
	log := target + "-wal"
	before, err := os.Stat(log)
	if err != nil || before.Size() == 0 {
		return nil
	}
	if keeps, err := keepsLog(ctx, target); err != nil || keeps {
		return nil // of a file that cannot be read, opening tells
	}
	now, err := os.Stat(log)
	if err != nil || !os.SameFile(before, now) || !before.ModTime().Equal(now.ModTime()) {
		return nil // another process began or ended its work on the file while we looked
	}
	return fmt.Errorf("%s is not the log of this file, but of the database that was here before: SQLite would write it into the file and destroy it; nothing of the file is in it. Remove it with `rm -f '%s' '%s-shm'`, then run the command again",
		log, log, target)
}

// keepsLog reports that the header of a file says that it has a write-ahead log. SQLite reads
// it, without a lock and without the log: the file must not be opened here otherwise, since
// closing it would drop the locks that another connection of this process has on it.
func keepsLog(ctx context.Context, path string) (bool, error) {
	values := url.Values{"mode": {"ro"}, "immutable": {"1"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: values.Encode()}).String())
	if err != nil {
		return false, err
	}
	defer db.Close()
	var version []byte // of the format, for reading: 1 without a log, 2 with one
	err = db.QueryRowContext(ctx, "SELECT substr(data, 20, 1) FROM sqlite_dbpage WHERE pgno = 1").Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return len(version) == 1 && version[0] == 2, err
}

// refuseLostFile refuses to make a database where only the log of one is left: SQLite would write
// the log into the new file, and nobody would hear that the old one is gone.
func refuseLostFile(path string) error {
	log := path + "-wal"
	if found, err := os.Stat(log); err != nil || found.Size() == 0 {
		return nil
	}
	if _, err := os.Stat(path); err == nil {
		return nil // another process has just made it
	}
	return fmt.Errorf("open database: %w: %s is not there, but its log %s is: the database was moved or deleted, and its newest content may be in the log. Put the database back; or, for a new one, remove the log with `rm -f '%s' '%s-shm'`, then run the command again",
		fault.ErrConflict, path, log, log, path)
}
