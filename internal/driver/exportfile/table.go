package exportfile

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/durable"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

// applicationID marks a file of SQLite as an export of ours ("patx"): nothing else is
// ever written to.
const applicationID = 0x70617478

// sqliteHead is how every file of SQLite begins.
const sqliteHead = "SQLite format 3\x00"

// IsTable reports whether a path leads to a file of SQLite. Whoever has it open through
// SQLite must not ask: closing a file takes the locks of a process on it away.
func IsTable(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, len(sqliteHead))
	_, err = io.ReadFull(file, head)
	return err == nil && bytes.Equal(head, []byte(sqliteHead))
}

// Table is one dataset's table in a file of SQLite that others query.
//
// A file that is there is changed in one transaction: whoever is killed leaves it as it
// was, and SQLite's journal beside it takes it back when it is opened next. A new one has
// another name until it is whole.
type Table struct {
	ctx     context.Context
	path    string
	temp    string // name of a new file until it is whole, in the folder
	root    *os.Root
	held    *hold
	swept   []string
	db      *sql.DB
	tx      *sql.Tx
	insert  *sql.Stmt // insert and update are of the columns there are now
	update  *sql.Stmt
	remove  *sql.Stmt
	rows    int64 // of the table: those that were there, with what was inserted and removed
	order   export.Order
	table   string
	columns []*column
	byField map[string]*column
	filled  export.Filled
	whole   bool
}

// OpenTable begins to write the table of a dataset. No other export can write to the
// file until it is closed. Without o.Since the table must not be there, unless force is
// set; with it, the table is brought up to date from where it stands: Since returns that.
func OpenTable(ctx context.Context, o export.Order, path string, force bool) (*Table, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%w: %s is a folder: name a file in it, such as %s", fault.ErrInvalid, path, filepath.Join(path, "records.db"))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("export: %w", err)
	case err != nil && o.Since != nil:
		return nil, fmt.Errorf("%w: there is no %s that could be brought up to date: export without --since first", fault.ErrNotFound, path)
	}
	target := Target{Dir: filepath.Dir(path), Single: filepath.Base(path)}
	root, lockErr := os.OpenRoot(target.Dir)
	if lockErr != nil {
		return nil, fmt.Errorf("export: %w", lockErr)
	}
	t := &Table{ctx: ctx, path: path, root: root, order: o, byField: map[string]*column{}}
	if t.held, lockErr = target.claimTarget(root); lockErr != nil {
		return nil, errors.Join(lockErr, root.Close())
	}
	if t.swept, lockErr = target.sweepLeftovers(root); lockErr == nil {
		lockErr = t.openFile(err != nil, force)
	}
	if lockErr != nil {
		return nil, errors.Join(lockErr, t.Close())
	}
	return t, nil
}

// openFile opens the file, or begins a new one, and finds the table.
func (t *Table) openFile(fresh, force bool) (err error) {
	if fresh {
		err = t.createFile()
	} else {
		err = t.openThere()
	}
	if err != nil {
		return err
	}
	if t.tx, err = t.db.BeginTx(t.ctx, nil); err != nil {
		return t.explain("begin", err)
	}
	if fresh {
		if err := t.makeBooks(); err != nil {
			return err
		}
	}
	return t.findTable(force)
}

// createFile begins a file that nobody has, for its owner alone: it holds records with
// people in them. What is lost of it when the machine stops was never a file.
func (t *Table) createFile() error {
	t.temp = nameInProgress(filepath.Base(t.path), rand.Text()[:8])
	made, err := t.root.OpenFile(t.temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	t.db, err = sqlite.OpenPlain(filepath.Join(filepath.Dir(t.path), t.temp), "journal_mode(OFF)", "synchronous(OFF)", "cache_size(-65536)", "temp_store(MEMORY)")
	return err
}

// openThere opens a file that is there, if it is an export of ours.
func (t *Table) openThere() (err error) {
	if !IsTable(t.path) {
		return export.Conflict("%s is there and is no export: name another file", t.path)
	}
	if t.db, err = openExport(t.ctx, t.path); err != nil {
		return err
	}
	return nil
}

// openExport opens an export of ours and no other file.
func openExport(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sqlite.OpenPlain(path, "busy_timeout(10000)", "synchronous(FULL)", "cache_size(-65536)", "temp_store(MEMORY)")
	if err != nil {
		return nil, err
	}
	var id int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return nil, errors.Join(fmt.Errorf("export: open %s: %w", path, adviseOnDamage(err)), db.Close())
	}
	if id != applicationID {
		return nil, errors.Join(export.Conflict("%s is a database, but no export of patra: nothing is written there, name another file", path), db.Close())
	}
	return db, nil
}

// explain says which file could not be written.
func (t *Table) explain(doing string, err error) error {
	return fmt.Errorf("export %s: %s: %w", t.path, doing, adviseOnDamage(err))
}

// adviseOnDamage says what to do about a damaged export: its records are in the database.
func adviseOnDamage(err error) error {
	return sqlite.AdviseOnDamage(err, "the file of the export is damaged: export into another file, without --since")
}

// Since is the cursor that the table stands at.
func (t *Table) Since() *export.Cursor { return t.order.Since }

// Form is how the records of the table are written: as they were the first time.
func (t *Table) Form() export.Form { return t.order.Form }

// Filled is what became of the table.
func (t *Table) Filled() export.Filled { return t.filled }

// Swept returns what killed exports had left there, and is removed.
func (t *Table) Swept() []string { return t.swept }

// Finish makes everything visible at once.
func (t *Table) Finish(m *export.Manifest) error {
	if err := t.addUnseen(); err != nil {
		return err
	}
	if err := t.writeBooks(m); err != nil {
		return err
	}
	if err := t.tx.Commit(); err != nil {
		return t.explain("commit", err)
	}
	t.tx = nil
	if err := t.closeDatabase(); err != nil {
		return t.explain("close", err)
	}
	if t.temp != "" {
		if err := t.publishNew(); err != nil {
			return err
		}
	}
	t.whole = true
	info, err := os.Stat(t.path)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	t.filled.Table, t.filled.Bytes = t.table, info.Size()
	m.Bytes = info.Size()
	return nil
}

// publishNew gives a new file its name when all of it is on the disk.
func (t *Table) publishNew() error {
	file, err := t.root.OpenFile(t.temp, os.O_RDWR, 0)
	if err == nil {
		err = errors.Join(file.Sync(), file.Close())
	}
	if err == nil {
		err = t.root.Rename(t.temp, filepath.Base(t.path))
	}
	if err == nil {
		err = durable.SyncRoot(t.root)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func (t *Table) closeDatabase() (err error) {
	for _, s := range []*sql.Stmt{t.insert, t.update, t.remove} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if t.insert, t.update, t.remove = nil, nil, nil; t.tx != nil {
		err = errors.Join(err, t.tx.Rollback())
		t.tx = nil
	}
	if t.db != nil {
		err = errors.Join(err, t.db.Close())
		t.db = nil
	}
	return err
}

// Close ends the export and lets others begin. What is not whole is removed or taken back.
func (t *Table) Close() error {
	err := t.closeDatabase()
	if errors.Is(err, sql.ErrTxDone) { // its context ended, and took it back
		err = nil
	}
	if t.temp != "" && !t.whole {
		if removed := t.root.Remove(t.temp); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}
	return errors.Join(err, t.held.release(), t.root.Close())
}
