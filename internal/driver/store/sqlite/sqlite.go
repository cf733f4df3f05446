// Package sqlite opens an embedded SQLite file as a store. It is the default:
// no server, no set-up, one executor process per file (D§5.20).
//
// It holds nothing but what is special about SQLite: pragmas, column types,
// the claim statement and error codes.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Config says which file and how.
type Config struct {
	Path string
	// MustExist refuses to create the file: a command that only reads must not
	// leave an empty database behind after a mistyped name.
	MustExist bool
	// Relaxed trades the newest commits after a power cut for speed (synchronous=NORMAL).
	Relaxed bool
	// Log is told of trouble that no step meets; nil: nobody is.
	Log *slog.Logger
}

// Open opens or creates the file. The schema is not touched.
func Open(ctx context.Context, c Config, o store.Options) (*store.Store, error) {
	d, write, read, err := Connect(ctx, c)
	if err != nil {
		return nil, err
	}
	return store.New(d, write, read, o), nil
}

// Connect opens the pools of the file: the one writer, and its readers.
func Connect(ctx context.Context, c Config) (d kernel.Dialect, write, read *sql.DB, err error) {
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return d, nil, nil, fmt.Errorf("database path %q: %w", c.Path, err)
	}
	switch _, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist) && c.MustExist:
		return d, nil, nil, fmt.Errorf("open database: %w: %s", fault.ErrNotFound, c.Path)
	case errors.Is(err, os.ErrNotExist):
		if folder := filepath.Dir(path); !isFolder(folder) {
			return d, nil, nil, fmt.Errorf("open database: %w: there is no folder %s: create it with `mkdir -p %s`, or name another place with --db or PATRA_DB", fault.ErrInvalid, folder, folder)
		}
		if err := refuseLostFile(path); err != nil {
			return d, nil, nil, err
		}
		createPrivately(ctx, path)
	case err != nil:
		return d, nil, nil, fmt.Errorf("open database: %w", err)
	default:
		if err := refuseForeignLog(ctx, path); err != nil {
			return d, nil, nil, fmt.Errorf("open database %s: %w", c.Path, err)
		}
	}
	synchronous := "FULL"
	if c.Relaxed {
		synchronous = "NORMAL"
	}
	// A wait for another process's lock cannot be interrupted: it is kept short,
	// and steps are redone (kernel.Step).
	pragmas := []string{"busy_timeout(1000)", "journal_mode(WAL)", "synchronous(" + synchronous + ")", "foreign_keys(OFF)", "temp_store(MEMORY)"}
	write, err = sql.Open("sqlite", dataSource(path, append(slices.Clone(pragmas), "cache_size(-32768)", fmt.Sprintf("wal_autocheckpoint(%d)", 2*usualLimits.longest)), "immediate"))
	if err != nil {
		return d, nil, nil, fmt.Errorf("open database: %w", err)
	}
	write.SetMaxOpenConns(1) // one writer; see kernel.lanes
	write.SetConnMaxLifetime(0)
	read, err = sql.Open("sqlite", dataSource(path, append(slices.Clone(pragmas), "cache_size(-8192)", "query_only(ON)"), "deferred"))
	if err != nil {
		_ = write.Close()
		return d, nil, nil, fmt.Errorf("open database: %w", err)
	}
	read.SetMaxOpenConns(max(4, runtime.NumCPU()))
	d = dialect()
	err = checkVersion(ctx, write)
	if err == nil {
		var file *presence
		if file, err = newPresence(path); err == nil {
			d.Present = file.checkFile
		}
	}
	if err == nil {
		var log *logCopier
		if log, err = newLogCopier(path, dataSource(path, pragmas, "deferred"), usualLimits, cmp.Or(c.Log, slog.New(slog.DiscardHandler))); err == nil {
			d.Committed, d.Close = log.noteCommit, log.close
		}
	}
	if err != nil {
		_, _ = read.Close(), write.Close()
		return d, nil, nil, fmt.Errorf("open database %s: %w%s", c.Path, err, explainRights(err))
	}
	return d, write, read, nil
}

// isFolder reports that a path leads to a folder. One that cannot be looked at may be
// one: SQLite says what is wrong with it.
func isFolder(path string) bool {
	found, err := os.Stat(path)
	return err == nil && found.IsDir() || err != nil && !errors.Is(err, os.ErrNotExist)
}

// createPrivately makes the file of a new database, for its owner alone: it holds
// records with people in them. SQLite makes the files beside it with the rights of
// this one. A file that is there is never opened here: closing it would take the
// locks away that another connection of this process has on it. Trouble is told by
// SQLite, which opens the file next.
//
// The file gets its name with a header in it: one without content was emptied by
// somebody, and is never one that another process is about to make.
func createPrivately(ctx context.Context, path string) {
	if target, err := os.Readlink(path); err == nil { // it leads to nothing yet
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	made, err := os.CreateTemp(filepath.Dir(path), ".patra-new-*.db")
	if err != nil {
		return
	}
	defer os.Remove(made.Name())
	if made.Close() != nil || writeHeader(ctx, made.Name()) != nil {
		return
	}
	if err := os.Link(made.Name(), path); err == nil || errors.Is(err, os.ErrExist) {
		return
	}
	// Here a file has one name.
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = file.Close()
	}
}

// writeHeader makes an empty file a database without tables, which has a write-ahead log.
func writeHeader(ctx context.Context, path string) error {
	db, err := OpenPlain(path, "journal_mode(WAL)")
	if err != nil {
		return err
	}
	return errors.Join(db.PingContext(ctx), db.Close())
}

// explainRights says what the library's two words for it mean here: also those who only
// read need the files beside the database.
func explainRights(err error) string {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_CANTOPEN:
		return ": the folder has to exist, and patra has to be able to write to it; --db names another place"
	case sqlite3.SQLITE_READONLY:
		return ": patra has to be able to write to the file and its folder, even to read it; or copy the database to another place and name the copy with --db"
	}
	return ""
}

func dataSource(path string, pragmas []string, lock string) string {
	values := url.Values{"_pragma": pragmas, "_txlock": {lock}}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: values.Encode()}).String()
}

// minVersion: older ones have a race that can corrupt the write-ahead log.
var minVersion = [3]int{3, 51, 3}

func checkVersion(ctx context.Context, db *sql.DB) error {
	var text, mode string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&text); err != nil {
		return translateError(err)
	}
	var version [3]int
	for i, part := range strings.SplitN(text, ".", 3) {
		version[i], _ = strconv.Atoi(part)
	}
	for i := range version {
		if version[i] != minVersion[i] {
			if version[i] < minVersion[i] {
				return fmt.Errorf("SQLite %s is too old: need %v or newer", text, minVersion)
			}
			break
		}
	}
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return translateError(err)
	}
	if mode != "wal" {
		return fmt.Errorf("journal mode is %s, need WAL: is the file on a network drive?", mode)
	}
	return nil
}

func dialect() kernel.Dialect {
	limit := func(measure string) func(string, int) string {
		return func(column string, n int) string {
			return fmt.Sprintf(measure, column, n)
		}
	}
	return kernel.Dialect{
		Name:             "sqlite",
		OneWriter:        true,
		TransactionalDDL: true,
		ByIndex:          " INDEXED BY %s",
		// Without FAIL a statement of several rows keeps a copy of every page it changes.
		InsertMany:    "INSERT OR FAIL INTO",
		RowsPerInsert: []int{100, 10},
		NumberedArgs:  true,
		Types: kernel.Types{
			ID: "INTEGER PRIMARY KEY AUTOINCREMENT", Int: "INTEGER", Bool: "INTEGER", Double: "REAL",
			JSON: "TEXT", LongText: "TEXT", Blob: "BLOB",
			// SQLite takes any length; the checks make it as strict as the server (D§5.21).
			Text:      limit("TEXT CHECK (length(%s) <= %d)"),
			Bytes:     limit("TEXT CHECK (length(CAST(%s AS BLOB)) <= %d)"),
			Binary:    limit("BLOB CHECK (length(%s) = %d)"),
			Table:     "STRICT",
			Clustered: "STRICT, WITHOUT ROWID", Partial: true,
		},
		ClaimSQL: `UPDATE ing_task SET status_code = 'DISPATCHED', claim_token = ?, lease_owner = ?, leased_until = ?,
  lease_epoch = lease_epoch + 1, lease_count = lease_count + 1, idle_leases = idle_leases + 1, last_heartbeat_at = ?, updated_at = ?
WHERE id IN (SELECT id FROM ing_task WHERE status_code = 'QUEUED' AND partition_id = ? ORDER BY priority, scheduled_at, id LIMIT ?)`,
		Translate: translateError,
		Check:     CheckIntegrity,
		Sizes:     measure,
		Columns:   readColumns, NextIDs: readNextIDs, SetNextIDs: setNextIDs,
		Lock: func(context.Context, *sql.Conn) (func(), error) {
			return func() {}, nil // each migration is one IMMEDIATE transaction
		},
		TableCount: func(ctx context.Context, q kernel.Querier) (n int, err error) {
			return n, q.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'").Scan(&n)
		},
		TableExists: func(ctx context.Context, q kernel.Querier, name string) (bool, error) {
			var n int
			err := q.QueryRowContext(ctx, "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?", name).Scan(&n)
			return n > 0, err
		},
	}
}

// advised is an error of SQLite that says what to do next.
type advised struct {
	error
	next string
}

func (a advised) Error() string { return a.error.Error() + ": " + a.next }

func (a advised) Unwrap() error { return a.error }

// Is reports which kind of fault a damaged file is. Its own words say it already.
func (a advised) Is(kind error) bool { return kind == fault.ErrBroken && isDamage(a.error) }

// Advise says what to do about a damaged database where no step of the store did: some read
// without translating what fails.
func Advise(err error) error {
	if isDamage(err) {
		return translateError(err)
	}
	return err
}

// AdviseOnDamage says what to do about a damaged file that is not the store's own.
func AdviseOnDamage(err error, next string) error {
	if errors.As(err, new(advised)) || !isDamage(err) {
		return err
	}
	return advised{err, next}
}

// isDamage reports that a file is damaged, or is none of SQLite.
func isDamage(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

func translateError(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) || errors.As(err, new(advised)) { // it may be translated where it is met, and once more on its way
		return err
	}
	kind := err
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		kind = fault.ErrBusy
	case sqlite3.SQLITE_CONSTRAINT:
		kind = fault.ErrInvalid
		if code := e.Code(); code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || code == sqlite3.SQLITE_CONSTRAINT_ROWID {
			kind = fault.ErrConflict
		}
	case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_RANGE:
		kind = fault.ErrInvalid
	case sqlite3.SQLITE_FULL:
		return advised{fmt.Errorf("%w: %w", fault.ErrFull, err), "make room on the disk of the database; what is committed stays, and the next run continues"}
	case sqlite3.SQLITE_CORRUPT:
		return advised{err, "the database file is damaged: stop all patra processes; `patra db check` lists the damage; restore a backup that passes it"}
	case sqlite3.SQLITE_NOTADB:
		return advised{err, "name the database of patra with --db; if this file was it, restore a backup"}
	default:
		return err
	}
	return fmt.Errorf("%w: %s", kind, e.Error())
}
