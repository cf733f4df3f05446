package kernel

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store/migrations"
)

// Types expands the macros of a migration file. One file serves every dialect;
// what differs is written here, so the two schemas cannot drift apart.
type Types struct {
	ID, Int, Bool, Double, JSON, LongText, Blob, Hash string
	// Text, Bytes and Binary are given the column's name and the length: where
	// the database does not enforce lengths, they add a check that does.
	Text, Bytes, Binary func(column string, n int) string
	Table, Clustered    string
	// OfTable says whether the name of an index needs its table to be found.
	OfTable bool
	// Partial says whether an index may leave rows out.
	Partial bool
	// Server says whether the database is one: it changes columns in place. A statement that is
	// for servers alone, or for files alone, begins with {server} or {file}.
	Server bool
}

var macro = regexp.MustCompile(`(?m)^(\s*)(\w+)(\s+)\{(\w+)(?: (\d+))?\}`)

var (
	ofTable = regexp.MustCompile(`\{of (\w+)\}`)
	setOnly = regexp.MustCompile(`\{set (\w+)\}`)
)

// expandTypes returns a statement as the database takes it, empty if it is for others.
func (t Types) expandTypes(statement string) string {
	for of, ours := range map[string]bool{"{server} ": t.Server, "{file} ": !t.Server} {
		if rest, marked := strings.CutPrefix(statement, of); marked && ours {
			statement = rest
		} else if marked {
			return ""
		}
	}
	named, partial := "", ""
	if t.OfTable {
		named = "ON $1"
	}
	if t.Partial {
		partial = "WHERE $1 IS NOT NULL"
	}
	statement = ofTable.ReplaceAllString(setOnly.ReplaceAllString(statement, partial), named)
	statement = strings.TrimRight(statement, " ")
	statement = strings.NewReplacer("{table}", t.Table, "{clustered}", t.Clustered).Replace(statement)
	return macro.ReplaceAllStringFunc(statement, func(m string) string {
		part := macro.FindStringSubmatch(m)
		n, _ := strconv.Atoi(part[5])
		return part[1] + part[2] + part[3] + t.columnType(part[2], part[4], n)
	})
}

func (t Types) columnType(name, kind string, n int) string {
	switch kind {
	case "id":
		return t.ID
	case "int", "instant":
		return t.Int
	case "bool":
		return t.Bool
	case "double":
		return t.Double
	case "json":
		return t.JSON
	case "longtext":
		return t.LongText
	case "blob":
		return t.Blob
	case "hash":
		return t.Text(name, 64)
	case "text":
		return t.Text(name, n)
	case "bytes":
		return t.Bytes(name, n)
	case "binary":
		return t.Binary(name, n)
	}
	return "{unknown macro " + kind + "}"
}

// Migration is one file of the schema's history.
type Migration struct {
	Version    int
	Name       string
	Checksum   string
	statements []string
}

// Migrations lists what this program knows, oldest first.
func Migrations() ([]Migration, error) {
	names, err := fs.Glob(migrations.Files, "*.sql")
	if err != nil {
		return nil, err
	}
	sort.Strings(names)
	var out []Migration
	for _, path := range names {
		text, err := migrations.Files.ReadFile(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(path, ".sql")
		number, title, _ := strings.Cut(name, "_")
		version, err := strconv.Atoi(number)
		if err != nil {
			return nil, fmt.Errorf("migration %s: the name must start with a number", path)
		}
		out = append(out, Migration{version, title, fingerprint.Bytes(text), splitStatements(string(text))})
	}
	return out, nil
}

// splitStatements cuts a file into statements: each ends with a semicolon at the end of a line.
func splitStatements(text string) []string {
	var out []string
	var statement strings.Builder
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); trimmed == "" || strings.HasPrefix(trimmed, "--") {
			continue
		}
		statement.WriteString(line)
		if strings.HasSuffix(strings.TrimRight(line, " \r\n"), ";") {
			out = append(out, strings.TrimSuffix(strings.TrimSpace(statement.String()), ";"))
			statement.Reset()
		}
	}
	return out
}

// VersionTable is where the migrator notes what it did.
const VersionTable = "patra_schema_version"

// ErrCopying means that a database was being filled by `patra db copy`, which did not come
// to its end.
var ErrCopying = fmt.Errorf("%w: a copy into this database did not come to its end, so it is not whole: run `patra db copy` again, it begins anew", fault.ErrConflict)

// SchemaStatus is where a database stands against this program.
type SchemaStatus struct {
	Current int         // highest version begun in the database; 0 for an empty one
	Latest  int         // highest version this program knows
	Pending []Migration // what Migrate would do
	Empty   bool        // the database has no table at all
	begun   map[int]int // version → statements done, where not finished
}

// Schema reads the status and changes nothing. A database of a newer program is
// an error, and stays untouched.
func (db *DB) Schema(ctx context.Context) (SchemaStatus, error) {
	status, err := db.readSchema(ctx, db.read)
	return status, Wrap("read schema version", err)
}

func (db *DB) readSchema(ctx context.Context, q Querier) (SchemaStatus, error) {
	known, err := Migrations()
	if err != nil {
		return SchemaStatus{}, err
	}
	if db.options.Schema > 0 {
		known = known[:db.options.Schema]
	}
	status := SchemaStatus{Latest: known[len(known)-1].Version, begun: map[int]int{}}
	finished := map[int]string{}
	tables, err := db.Dialect.TableCount(ctx, q)
	if err != nil {
		return status, db.Translate(err)
	}
	status.Empty = tables == 0
	exists, err := db.Dialect.TableExists(ctx, q, VersionTable)
	if err != nil {
		return status, db.Translate(err)
	}
	if exists {
		rows, err := q.QueryContext(ctx, "SELECT version, checksum, statements_done, finished_at FROM "+VersionTable)
		if err != nil {
			return status, db.Translate(err)
		}
		err = Each(rows, func() error {
			var version, done int
			var checksum string
			var finishedAt sql.NullInt64
			if err := rows.Scan(&version, &checksum, &done, &finishedAt); err != nil {
				return err
			}
			status.Current = max(status.Current, version)
			if finishedAt.Valid {
				finished[version] = checksum
			} else {
				status.begun[version] = done
			}
			return nil
		})
		if err != nil {
			return status, err
		}
	}
	if status.Current == CopyVersion {
		return status, ErrCopying
	}
	if status.Current > status.Latest {
		return status, fmt.Errorf("%w: the database has version %d, this program knows up to %d; use a newer program",
			fault.ErrNewerSchema, status.Current, status.Latest)
	}
	for _, m := range known {
		checksum, ok := finished[m.Version]
		if ok && checksum != m.Checksum {
			return status, fmt.Errorf("migration %d (%s) of this program differs from the one that was applied to this database: use the program that migrated it, or an official build", m.Version, m.Name)
		}
		if !ok {
			status.Pending = append(status.Pending, m)
		}
	}
	return status, nil
}

func (db *DB) Migrate(ctx context.Context) (applied []Migration, err error) {
	conn, err := db.write.Conn(ctx)
	if err != nil {
		return nil, Wrap("migrate", db.Translate(err))
	}
	defer conn.Close()
	unlock, err := db.Dialect.Lock(ctx, conn)
	if err != nil {
		return nil, Wrap("migrate: lock", db.Translate(err))
	}
	defer unlock()
	status, err := db.readSchema(ctx, conn)
	if err != nil {
		return nil, Wrap("migrate", err)
	}
	for _, m := range status.Pending {
		ours, err := db.applyPatiently(ctx, conn, m, status.begun[m.Version])
		if err != nil {
			return applied, fmt.Errorf("migrate: version %d (%s): %w", m.Version, m.Name, err)
		}
		if ours {
			applied = append(applied, m)
		}
	}
	return applied, nil
}

// applyPatiently waits for another program that migrates the same file: its
// transaction may take longer than one wait for the lock. Only where a failed
// migration leaves nothing behind may it simply be begun again.
func (db *DB) applyPatiently(ctx context.Context, conn *sql.Conn, m Migration, done int) (ours bool, err error) {
	const patience = 60 // waits for the lock, each about a second
	for try := 1; ; try++ {
		ours, err = db.applyMigration(ctx, conn, m, done)
		err = db.Translate(err)
		if !errors.Is(err, fault.ErrBusy) || !db.Dialect.TransactionalDDL || try == patience || ctx.Err() != nil {
			return ours, err
		}
	}
}

// applyMigration reports whether the version was still to be done.
func (db *DB) applyMigration(ctx context.Context, conn *sql.Conn, m Migration, done int) (ours bool, err error) {
	create := db.Dialect.Types.expandTypes("CREATE TABLE IF NOT EXISTS " + VersionTable + ` (
  version         {int} NOT NULL,
  name            {text 128} NOT NULL,
  checksum        {hash} NOT NULL,
  statements_done {int} NOT NULL,
  started_at      {int} NOT NULL,
  finished_at     {int},
  PRIMARY KEY (version)
) {table}`)
	var q Querier = conn
	commit := func() error { return nil }
	if db.Dialect.TransactionalDDL {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return false, err
		}
		defer tx.Rollback()
		q, commit = tx, tx.Commit
	}
	if _, err := q.ExecContext(ctx, create); err != nil {
		return false, err
	}
	// Without a lock of its own a program learns only here, inside its write
	// transaction, that another one was faster.
	var n int
	err = q.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+VersionTable+" WHERE version = ? AND finished_at IS NOT NULL", m.Version).Scan(&n)
	if err != nil || n > 0 {
		return false, err
	}
	if err := db.runStatements(ctx, q, m, done); err != nil {
		return false, err
	}
	return true, commit()
}

func (db *DB) runStatements(ctx context.Context, q Querier, m Migration, done int) error {
	now := time.Now().UnixMicro()
	if done == 0 {
		if _, err := q.ExecContext(ctx, "DELETE FROM "+VersionTable+" WHERE version = ? AND finished_at IS NULL", m.Version); err != nil {
			return err
		}
		if _, err := q.ExecContext(ctx, "INSERT INTO "+VersionTable+" (version, name, checksum, statements_done, started_at) VALUES (?,?,?,0,?)",
			m.Version, m.Name, m.Checksum, now); err != nil {
			return err
		}
	}
	for i, statement := range m.statements[done:] {
		if err := db.runStatement(ctx, q, statement); err != nil && !db.existsAlready(err) {
			line, _, _ := strings.Cut(statement, "\n")
			return fmt.Errorf("%s …: %w", line, err)
		}
		crash.At(crash.Migrating)
		if _, err := q.ExecContext(ctx, "UPDATE "+VersionTable+" SET statements_done = ? WHERE version = ?", done+i+1, m.Version); err != nil {
			return err
		}
	}
	_, err := q.ExecContext(ctx, "UPDATE "+VersionTable+" SET finished_at = ?, checksum = ? WHERE version = ?", now, m.Checksum, m.Version)
	return err
}

func (db *DB) runStatement(ctx context.Context, q Querier, statement string) error {
	expanded := db.Dialect.Types.expandTypes(statement)
	if expanded == "" {
		return nil
	}
	_, err := q.ExecContext(ctx, expanded)
	return err
}

// existsAlready reports whether an error says that the statement ran before: the program died
// between running and noting it.
func (db *DB) existsAlready(err error) bool {
	return db.Dialect.DoneAlready != nil && db.Dialect.DoneAlready(err)
}
