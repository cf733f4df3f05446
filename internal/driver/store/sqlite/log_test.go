package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

const pageBytes = 4096

// logged is a database with a table of rows that take a page each, and a copier of its log.
type logged struct {
	*testing.T
	path  string
	write *sql.DB
	read  *sql.DB // of readers, if there were any
	told  toldLines
	*logCopier
}

// toldLines are what a log was told, a line each.
type toldLines chan string

func (l toldLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// newLogged opens one of which nobody but the copier empties the log.
func newLogged(t *testing.T, limits logLimits) *logged {
	t.Helper()
	l := &logged{T: t, path: filepath.Join(t.TempDir(), "patra.db"), told: make(toldLines, 10)}
	source := dataSource(l.path, []string{"journal_mode(WAL)", "synchronous(OFF)", "wal_autocheckpoint(0)"}, "immediate")
	var err error
	if l.write, err = sql.Open("sqlite", source); err != nil {
		t.Fatal(err)
	}
	l.write.SetMaxOpenConns(1)
	l.exec("CREATE TABLE row (id INTEGER PRIMARY KEY, content BLOB)")
	if l.logCopier, err = newLogCopier(l.path, source, limits, slog.New(slog.NewTextHandler(l.told, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.write.Close() })
	return l
}

func (l *logged) exec(query string, args ...any) {
	l.Helper()
	if _, err := l.write.ExecContext(l.Context(), query, args...); err != nil {
		l.Fatal(err)
	}
}

// commit writes rows in one transaction.
func (l *logged) commit(rows int) {
	l.Helper()
	l.exec("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO row (content) SELECT randomblob(4000) FROM n", rows)
}

func (l *logged) state() logState {
	l.Helper()
	log, err := l.checkpoint(l.Context(), "NOOP")
	if err != nil {
		l.Fatal(err)
	}
	return log
}

func (l *logged) rows() (n int) {
	l.Helper()
	if err := l.write.QueryRowContext(l.Context(), "SELECT COUNT(*) FROM row").Scan(&n); err != nil {
		l.Fatal(err)
	}
	return n
}

// The log is copied when much of it is missing in the file, and not before.
func TestLogIsCopiedWhenItIsBehind(t *testing.T) {
	l := newLogged(t, logLimits{behind: 100, longest: 1000})
	defer l.close()
	for range 3 {
		l.commit(20)
		if err := l.copyIfBehind(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if log := l.state(); log.copied != 0 {
		t.Fatalf("%d of %d pages were copied, less than 100 behind", log.copied, log.pages)
	}
	l.commit(100)
	if err := l.copyIfBehind(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log := l.state(); log.copied < 150 || log.copied != log.pages {
		t.Errorf("%d of %d pages were copied, more than 100 behind", log.copied, log.pages)
	}
	if kept.open[l.path] == nil {
		t.Error("what was copied was not synced")
	}
}

// A log to which more is written while it is copied is never copied whole: one commit then
// waits for the rest, and the next one starts the log over.
func TestLogStartsOverWhileTheWriterGoesOn(t *testing.T) {
	const longest, commits, rows = 300, 50, 20
	l := newLogged(t, logLimits{behind: 100, longest: longest})
	defer l.close()
	longestSeen := 0
	for round := range commits {
		leave := func() {}
		if round%2 == 0 { // the first try of a commit is in vain
			_, leave = l.startReader()
		}
		l.commit(rows)
		l.copyRest()
		leave()
		l.commit(rows)
		_, leave = l.startReader() // what is written behind it is what a copier does not reach
		l.commit(1)
		if err := l.copyIfBehind(t.Context()); err != nil {
			t.Fatal(err)
		}
		leave()
		longestSeen = max(longestSeen, l.state().pages)
	}
	if longestSeen < longest || longestSeen > 2*longest {
		t.Errorf("the log had up to %d pages, want between %d and %d", longestSeen, longest, 2*longest)
	}
	if size := l.logBytes(); size > 2*longest*(pageBytes+24)+32 {
		t.Errorf("the log has %d bytes", size)
	}
	if got, want := l.rows(), commits*(2*rows+1); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	if found, err := CheckIntegrity(t.Context(), l.write); err != nil || len(found) > 0 {
		t.Errorf("the file is damaged: %v %v", found, err)
	}
}

// startReader begins to read the rows as they are; count tells how many it sees.
func (l *logged) startReader() (count func() int, leave func()) {
	l.Helper()
	if l.read == nil {
		var err error
		if l.read, err = sql.Open("sqlite", dataSource(l.path, nil, "deferred")); err != nil {
			l.Fatal(err)
		}
		l.Cleanup(func() { _ = l.read.Close() })
	}
	tx, err := l.read.BeginTx(l.Context(), nil)
	if err != nil {
		l.Fatal(err)
	}
	count = func() (n int) {
		l.Helper()
		if err := tx.QueryRowContext(l.Context(), "SELECT COUNT(*) FROM row").Scan(&n); err != nil {
			l.Fatal(err)
		}
		return n
	}
	count()
	return count, func() { _ = tx.Rollback() }
}

func (l *logged) logBytes() int64 {
	l.Helper()
	info, err := os.Stat(l.path + "-wal")
	if err != nil {
		l.Fatal(err)
	}
	return info.Size()
}

// The log of a small file is not many times as large as the file.
func TestLogOfASmallFileStartsOverSooner(t *testing.T) {
	l := newLogged(t, logLimits{behind: 100, longest: 1000})
	defer l.close()
	l.commit(50)
	for range 5 {
		l.exec("UPDATE row SET content = randomblob(4000)")
	}
	if err := l.copyIfBehind(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log := l.state(); !l.tooLong.Load() {
		t.Errorf("the log has %d pages and goes on, but the file 60", log.pages)
	}
}

// Whoever reads keeps the state that they began with, and the log goes on until they are done.
func TestLogWaitsForReaders(t *testing.T) {
	l := newLogged(t, logLimits{behind: 100, longest: 100})
	defer l.close()
	l.commit(10)
	count, leave := l.startReader()
	if n := count(); n != 10 {
		t.Fatalf("%d rows, want 10", n)
	}
	for range 20 {
		l.commit(50)
		if err := l.copyIfBehind(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n, log := count(), l.state(); n != 10 || log.copied >= log.pages || l.tooLong.Load() {
		t.Errorf("the reader has %d rows, want 10, and %d of %d pages are copied; the next commit is asked to: %t", n, log.copied, log.pages, l.tooLong.Load())
	}
	leave()
	if err := l.copyIfBehind(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log := l.state(); log.copied != log.pages || !l.tooLong.Load() {
		t.Errorf("the reader is done and %d of %d pages are copied; the next commit is asked to: %t", log.copied, log.pages, l.tooLong.Load())
	}
}

// Commits wake the copier, and it ends with the store. A copier that nothing was committed
// beside ends, too.
func TestLogIsCopiedBesideTheWriter(t *testing.T) {
	l := newLogged(t, logLimits{behind: 100, longest: 100_000})
	for tries := 0; l.state().copied == 0; tries++ {
		if tries > 10_000 {
			t.Fatal("nothing of the log was ever copied")
		}
		l.commit(10)
		l.noteCommit()
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
	l.noteCommit() // a step that ends after the store was closed
	idle := newLogged(t, usualLimits)
	for range 2 {
		if err := idle.close(); err != nil {
			t.Error(err)
		}
	}
	idle.noteCommit()
}

// A log that cannot be copied is told once, and so is that it can be again. That another process
// copies it is no news.
func TestLogThatCannotBeCopiedIsTold(t *testing.T) {
	l := newLogged(t, usualLimits)
	defer l.close()
	for range 3 {
		l.tellOutcome(errors.New("input/output error"))
		l.tellOutcome(fmt.Errorf("empty the log: %w", fault.ErrBusy))
	}
	l.tellOutcome(nil)
	l.tellOutcome(nil)
	for _, want := range []string{"level=WARN", "level=INFO"} {
		if line := <-l.told; !strings.Contains(line, want) || !strings.Contains(line, "patra.db-wal") {
			t.Errorf("told %q, want %s", line, want)
		}
	}
	l.state()
	l.limits = logLimits{behind: 1, longest: 1000}
	l.commit(10)
	if err := os.Rename(l.path, l.path+".away"); err != nil {
		t.Fatal(err)
	}
	l.noteCommit()
	if line := <-l.told; !strings.Contains(line, "no such file") {
		t.Errorf("told %q, want that there is no file to sync", line)
	}
	if len(l.told) > 0 {
		t.Errorf("told again: %s", <-l.told)
	}
}

// Files that were synced stay open, however many copiers sync them at once: closing one would drop
// SQLite's locks.
func TestSyncedFileIsOpenedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "patra.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const copiers = 16
	files := make(chan *os.File, copiers)
	var begin, done sync.WaitGroup
	begin.Add(1)
	for range copiers {
		done.Go(func() {
			begin.Wait()
			file, err := keepOpen(path)
			if err != nil {
				t.Error(err)
			}
			files <- file
		})
	}
	begin.Done()
	done.Wait()
	first := <-files
	for range copiers - 1 {
		if other := <-files; other != first {
			t.Fatal("the file was opened twice, and one of them will be closed")
		}
	}
}

// A store copies the log of its file beside its steps, also when they are the only ones.
func TestStepsWakeTheCopier(t *testing.T) {
	path := filepath.Join(t.TempDir(), "patra.db")
	d, write, read, err := Connect(t.Context(), Config{Path: path, Relaxed: true})
	if err != nil {
		t.Fatal(err)
	}
	committed := 0
	next := d.Committed
	d.Committed = func() { committed++; next() }
	db := kernel.New(d, write, read, kernel.Options{})
	step := func(do func(*kernel.Tx) error) error {
		return db.Step(t.Context(), "test", kernel.Bulk, do)
	}
	if err := step(func(x *kernel.Tx) error {
		_, err := x.Exec("CREATE TABLE row (id INTEGER PRIMARY KEY, content BLOB)")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_ = step(func(*kernel.Tx) error { return context.Canceled })
	if committed != 1 {
		t.Errorf("the copier heard of %d commits, want 1", committed)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + "-wal"); err == nil {
		t.Error("the log is left behind: a connection was not closed")
	}
}
