package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
)

// BackUp writes the database as it is at one instant into another file, while others go on
// reading and writing. The other file must be empty or not there. It holds no room that is
// free, so it is smaller.
func BackUp(ctx context.Context, path, to string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("database path %q: %w", path, err)
	}
	db, err := sql.Open("sqlite", dataSource(path, []string{"busy_timeout(1000)", "temp_store(MEMORY)"}, "deferred"))
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return err
}

// EndLog folds the log of a file into it, and leaves the file as BackUp makes it: with a
// header that says that it has no log, so that the log of another database beside it is known
// for what it is. It fails while somebody else has the file open.
func EndLog(ctx context.Context, path string) error {
	db, err := OpenPlain(path)
	if err != nil {
		return err
	}
	defer db.Close()
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode); err != nil {
		return fmt.Errorf("end the log of %s: %w", path, translateError(err))
	}
	if mode != "delete" {
		return fmt.Errorf("end the log of %s: it is still in the mode %s", path, mode)
	}
	return nil
}
