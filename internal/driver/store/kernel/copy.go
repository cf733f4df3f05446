package kernel

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/crash"
)

// CopyVersion stands among the versions of a schema while a database is filled from
// another one: no program uses it until it is whole.
const CopyVersion = 1_000_000

// Class is what a column holds, whatever a database calls it.
type Class int

// The classes.
const (
	IntClass Class = iota
	RealClass
	TextClass
	BytesClass
)

// Column is one of a table.
type Column struct {
	Name  string
	Class Class
}

// Copied is what became of a table.
type Copied struct {
	Table string
	Rows  int64
}

const (
	copyRows  = 100     // of one INSERT
	copyBytes = 1 << 20 // about
	copyStep  = 2000    // rows of one transaction
)

// CopyTo fills an empty database with all that this one holds at one instant; others may
// go on here. Until everything was read back and compared, no program can use the copy.
// What a copy that was stopped left behind is removed first. tell hears of each table,
// and now and then of a large one.
func (db *DB) CopyTo(ctx context.Context, to *DB, tell func(Copied)) (done []Copied, err error) {
	if err := db.prepareCopy(ctx, to); err != nil {
		return nil, err
	}
	tables, err := to.Dialect.Columns(ctx, to.write)
	if err != nil {
		return nil, Wrap("copy the database", to.Translate(err))
	}
	delete(tables, VersionTable)
	sums := map[string]sum{}
	err = db.ReadView(ctx, func(q Querier) error {
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			c := copying{from: q, to: to, name: name, columns: tables[name], tell: tell}
			if err := c.copyTable(ctx); err != nil {
				return fmt.Errorf("table %s: %w", name, err)
			}
			done, sums[name] = append(done, Copied{name, c.sum.rows}), c.sum
			crash.At(crash.Copying)
		}
		next, err := db.Dialect.NextIDs(ctx, q)
		if err != nil {
			return err
		}
		return to.Dialect.SetNextIDs(ctx, to.write, next)
	})
	if err != nil {
		return done, Wrap("copy the database", err)
	}
	if err := to.compareCopy(ctx, tables, sums); err != nil {
		return done, err
	}
	_, err = to.write.ExecContext(ctx, "DELETE FROM "+VersionTable+" WHERE version = ?", CopyVersion)
	return done, Wrap("finish the copy", to.Translate(err))
}

// prepareCopy makes the tables of an empty database, and marks it as unfinished.
func (db *DB) prepareCopy(ctx context.Context, to *DB) error {
	from, err := db.Schema(ctx)
	if err != nil {
		return err
	}
	if from.Empty || len(from.Pending) > 0 {
		return fmt.Errorf("copy the database: %w: the one that is copied has schema %d, this program %d: run `patra db migrate` there first", fault.ErrInvalid, from.Current, from.Latest)
	}
	there, err := to.Schema(ctx)
	if err != nil && !errors.Is(err, ErrCopying) {
		return err
	}
	if err == nil && !there.Empty {
		if err := to.checkUnused(ctx); err != nil {
			return err
		}
	}
	if !there.Empty {
		if err := to.dropTables(ctx); err != nil {
			return Wrap("remove an unfinished copy", to.Translate(err))
		}
	}
	if _, err := to.Migrate(ctx); err != nil {
		return err
	}
	_, err = to.write.ExecContext(ctx, "INSERT INTO "+VersionTable+" (version, name, checksum, statements_done, started_at) VALUES (?, 'copy', ?, 0, 0)", CopyVersion, strings.Repeat("0", 2*sha256.Size))
	return Wrap("mark the copy", to.Translate(err))
}

// checkUnused refuses a database that holds anything but tables and codes, which a
// migration makes.
func (db *DB) checkUnused(ctx context.Context) error {
	tables, err := db.Dialect.Columns(ctx, db.write)
	if err != nil {
		return Wrap("look at the target", db.Translate(err))
	}
	if _, ours := tables[VersionTable]; !ours {
		return fmt.Errorf("copy the database: %w: the target has tables of something else: name an empty database", fault.ErrInvalid)
	}
	for name := range tables {
		if name == VersionTable || strings.HasPrefix(name, "sys_dict_") {
			continue
		}
		var one int
		used, err := Found(db.write.QueryRowContext(ctx, "SELECT 1 FROM "+name+" LIMIT 1").Scan(&one))
		if err != nil {
			return Wrap("look at the target", db.Translate(err))
		}
		if used {
			return fmt.Errorf("copy the database: %w: the target has data already (table %s): name an empty database, or a file that is not there", fault.ErrInvalid, name)
		}
	}
	return nil
}

// dropTables removes all tables of a database without data or of an unfinished copy; the
// mark goes last.
func (db *DB) dropTables(ctx context.Context) error {
	tables, err := db.Dialect.Columns(ctx, db.write)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(tables))
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == VersionTable }), VersionTable)
	for _, name := range names {
		if _, err := db.write.ExecContext(ctx, "DROP TABLE "+name); err != nil {
			return err
		}
	}
	return nil
}

// compareCopy reads everything back and holds it against what was written.
func (db *DB) compareCopy(ctx context.Context, tables map[string][]Column, want map[string]sum) error {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		c := copying{from: db.write, name: name, columns: tables[name]}
		if err := c.readRows(ctx, func([]any) error { return nil }); err != nil {
			return fmt.Errorf("compare the copy: table %s: %w", name, db.Translate(err))
		}
		if c.sum != want[name] {
			return fmt.Errorf("compare the copy: %w: table %s reads back differently from what was written (%d rows, %d were copied), so the copy cannot be used: check the disk of the target, then run `patra db copy` again", fault.ErrDamaged, name, c.sum.rows, want[name].rows)
		}
	}
	return nil
}

// sum is the content of a table, in whatever order: how many rows, and the sum of their
// hashes.
type sum struct {
	rows   int64
	hashes [4]uint64
}

func (s *sum) addRow(row []any) {
	h := sha256.New()
	var length [9]byte
	for _, v := range row {
		var text []byte
		switch v := v.(type) {
		case nil:
			h.Write([]byte{0})
			continue
		case int64:
			text = strconv.AppendInt(nil, v, 10)
		case float64:
			text = strconv.AppendFloat(nil, v, 'g', -1, 64)
		case string:
			text = []byte(v)
		case []byte:
			text = v
		}
		length[0] = 1
		binary.BigEndian.PutUint64(length[1:], uint64(len(text)))
		h.Write(length[:])
		h.Write(text)
	}
	digest := h.Sum(nil)
	for i := range s.hashes {
		s.hashes[i] += binary.BigEndian.Uint64(digest[8*i:])
	}
	s.rows++
}

// copying is one table on its way.
type copying struct {
	from    Querier
	to      *DB
	name    string
	columns []Column
	tell    func(Copied)
	sum     sum
}

func (c *copying) names() string {
	var names []string
	for _, column := range c.columns {
		names = append(names, column.Name)
	}
	return strings.Join(names, ", ")
}

// readRows reads all rows, each value as its class wants it.
func (c *copying) readRows(ctx context.Context, use func([]any) error) error {
	rows, err := c.from.QueryContext(ctx, "SELECT "+c.names()+" FROM "+c.name)
	if err != nil {
		return err
	}
	cells, places := make([]any, len(c.columns)), make([]any, len(c.columns))
	for i := range cells {
		places[i] = &cells[i]
	}
	return Each(rows, func() error {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		row := make([]any, len(cells))
		for i, v := range cells {
			if row[i], err = c.columns[i].Class.fit(v); err != nil {
				return fmt.Errorf("column %s: %w", c.columns[i].Name, err)
			}
		}
		c.sum.addRow(row)
		return use(row)
	})
}

// fit makes of a value what a class holds. Databases hand the same value over as
// different types.
func (k Class) fit(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	text, isText := v.(string)
	if raw, ok := v.([]byte); ok {
		text, isText = string(raw), true
	}
	switch k {
	case IntClass:
		if isText {
			return strconv.ParseInt(text, 10, 64)
		}
		if _, ok := v.(int64); ok {
			return v, nil
		}
	case RealClass:
		if isText {
			return strconv.ParseFloat(text, 64)
		}
		if n, ok := v.(float32); ok {
			return float64(n), nil
		}
		if _, ok := v.(float64); ok {
			return v, nil
		}
	case TextClass:
		if isText {
			return text, nil
		}
	case BytesClass:
		if isText {
			return []byte(text), nil
		}
	}
	return nil, fmt.Errorf("%w: a value of type %T", fault.ErrInvalid, v)
}

// copyTable reads a table and writes it, some rows in each transaction.
func (c *copying) copyTable(ctx context.Context) error {
	var page [][]any
	size := 0
	flush := func() error {
		if len(page) == 0 {
			return nil
		}
		err := c.writePage(ctx, page)
		page, size = page[:0], 0
		if c.tell != nil {
			c.tell(Copied{c.name, c.sum.rows})
		}
		return err
	}
	if err := c.readRows(ctx, func(row []any) error {
		page = append(page, row)
		if size += textIn(row); len(page) < copyStep && size < 16*copyBytes {
			return nil
		}
		return flush()
	}); err != nil {
		return err
	}
	return flush()
}

// writePage writes rows in one transaction, many in each statement.
func (c *copying) writePage(ctx context.Context, page [][]any) error {
	tx, err := c.to.write.BeginTx(ctx, nil)
	if err != nil {
		return c.to.Translate(err)
	}
	defer tx.Rollback()
	for len(page) > 0 {
		n, size := 0, 0
		for n < min(len(page), copyRows) && (n == 0 || size < copyBytes) {
			size += textIn(page[n])
			n++
		}
		if err := c.insertRows(ctx, tx, page[:n]); err != nil {
			return c.to.Translate(err)
		}
		page = page[n:]
	}
	return c.to.Translate(c.to.commit(tx))
}

func (c *copying) insertRows(ctx context.Context, tx *sql.Tx, rows [][]any) error {
	one := "(?" + strings.Repeat(",?", len(c.columns)-1) + ")"
	_, err := tx.ExecContext(ctx, "INSERT INTO "+c.name+" ("+c.names()+") VALUES "+one+strings.Repeat(","+one, len(rows)-1), slices.Concat(rows...)...)
	return err
}
