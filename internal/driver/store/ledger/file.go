package ledger

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// namesPer is how many files one statement looks up.
const namesPer = 100

// noteListed keeps what a page of a listing says of files, with the batch that brought it. A
// file that is listed again keeps what is known of its reading.
func (t *tx) noteListed(in ingest.BatchCommit) error {
	if len(in.Listed) == 0 {
		return nil
	}
	of, err := t.endedSlice(in.Lineage.SliceID)
	if err != nil {
		return err
	}
	for chunk := range slices.Chunk(in.Listed, namesPer) {
		args := []any{of.cursorID}
		for _, f := range chunk {
			key := record.KeyOf(f.Name)
			args = append(args, key[:])
		}
		known := map[record.Key]int64{}
		rows, err := t.Query("SELECT id, name_hash FROM ing_file WHERE cursor_id = ? AND name_hash IN ("+marks(len(chunk))+")"+t.Dialect().ForUpdate, args...)
		if err != nil {
			return err
		}
		if err := kernel.Each(rows, func() error {
			var id int64
			var hash []byte
			err := rows.Scan(&id, &hash)
			known[record.Key(hash)] = id
			return err
		}); err != nil {
			return err
		}
		for _, f := range chunk {
			if err := t.noteFile(of, f, known); err != nil {
				return err
			}
		}
	}
	return nil
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// noteFile writes one file of a listing.
func (t *tx) noteFile(of endedSlice, f files.Listed, known map[record.Key]int64) (err error) {
	key := record.KeyOf(f.Name)
	said := []any{f.Address, stampOf(f), f.Size, f.Lines, kernel.OrNull(f.Checksum), f.Version(), kernel.Micros(of.asOf), kernel.Micros(t.Now)}
	if id, ok := known[key]; ok {
		return t.ExecOne("UPDATE ing_file SET address = ?, stamp = ?, byte_count = ?, line_count = ?, checksum = ?, version = ?, last_listed = ?, updated_at = ? WHERE id = ?", append(said, id)...)
	}
	known[key], err = t.Insert(`INSERT INTO ing_file (address, stamp, byte_count, line_count, checksum, version, last_listed, updated_at, cursor_id, name_hash, name, first_listed, read_items, read_bytes)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?,0,0)`, append(said, of.cursorID, key[:], f.Name, kernel.Micros(of.asOf))...)
	return err
}

// stampOf returns the date of a file as it is stored.
func stampOf(f files.Listed) any {
	if f.Stamp.IsZero() {
		return nil
	}
	return kernel.Micros(f.Stamp)
}

// OwedFiles lists the files of the set that a slice lists which have to be read, in the order
// of their dates and names: those that were never wholly read, also if no listing names them
// any more, and those that were listed otherwise since. A file of which nothing tells whether
// it changed is asked for every time. Of a set whose files each hold everything the newest
// one is enough.
func (s *Ledger) OwedFiles(ctx context.Context, sliceID int64, take files.Take) (out []files.Owed, err error) {
	which, order, limit := "(f.read_version IS NULL OR f.read_version <> f.version OR f.version = '')", "f.stamp, f.name", files.MostFiles+1
	if take == files.TakeNewest {
		which, order, limit = "f.last_listed = p.as_of", "f.stamp DESC, f.name DESC", 1
	}
	rows, err := s.db.Query(ctx, "SELECT "+fileColumns+`, f.version, f.read_version, f.validator FROM ing_plan_slice s JOIN ing_plan p ON p.id = s.plan_id JOIN ing_file f ON f.cursor_id = p.cursor_id
  WHERE s.id = ? AND `+which+" ORDER BY "+order+" LIMIT ?", sliceID, limit)
	if err == nil {
		err = kernel.Each(rows, func() error {
			var f files.Owed
			var read, validator sql.NullString
			l, err := scanFile(rows, &f.Version, &read, &validator)
			f.Listed, f.Validator = l, files.Validator(validator.String)
			if known := read.Valid && read.String == f.Version && f.Version != ""; !known {
				out = append(out, f)
			}
			return err
		})
	}
	return out, kernel.Wrap("owed files", s.db.Translate(err))
}

const fileColumns = "f.name, f.address, f.stamp, f.byte_count, f.line_count, f.checksum"

func scanFile(rows *sql.Rows, more ...any) (f files.Listed, err error) {
	var stamp sql.NullInt64
	var checksum sql.NullString
	err = rows.Scan(append([]any{&f.Name, &f.Address, &stamp, &f.Size, &f.Lines, &checksum}, more...)...)
	f.Stamp, f.Checksum = kernel.Instant(stamp), checksum.String
	return f, err
}

// endFile notes that a file was wholly read, in the transaction that covers its slice.
func (t *tx) endFile(in ingest.Finish) error {
	end := in.File
	if end == nil || in.Outcome.Task != ingest.TaskSucceeded {
		return nil
	}
	of, err := t.endedSlice(in.Lineage.SliceID)
	if err != nil {
		return err
	}
	key := record.KeyOf(end.Name)
	at := []any{of.cursorID, key[:], kernel.Micros(of.asOf)} // a retry of an older plan must not undo what a later one read
	if end.Unchanged {
		_, err = t.Exec("UPDATE ing_file SET read_version = ?, read_as_of = ?, updated_at = ? WHERE cursor_id = ? AND name_hash = ? AND (read_as_of IS NULL OR read_as_of <= ?)",
			append([]any{end.Version, kernel.Micros(of.asOf), kernel.Micros(t.Now)}, at...)...)
		return err
	}
	_, err = t.Exec("UPDATE ing_file SET read_version = ?, read_as_of = ?, read_items = ?, read_bytes = ?, validator = ?, updated_at = ? WHERE cursor_id = ? AND name_hash = ? AND (read_as_of IS NULL OR read_as_of <= ?)",
		append([]any{end.Version, kernel.Micros(of.asOf), end.Items, end.Bytes, kernel.OrNull(kernel.Cut(string(end.Validator), 512)), kernel.Micros(t.Now)}, at...)...)
	return err
}
