package bench

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// The floor is the least that does what the program promises of every new record: a row
// by the hash of its id with the hash of its content, an event with its two indexes, its
// bytes packed in frames, what the answer has beside them with its hash, and all of it durable
// when a page is done. It reads, checks and maps nothing, brings nothing into canonical form, looks nothing up and
// keeps no ledger. What the program takes beyond it is the price of these.
type floor struct {
	db                             *sql.DB
	heads, events, frames, answers *sql.Stmt
	encoders                       sync.Pool
	mu                             sync.Mutex
	batch                          int64
}

const floorRows = 100

func newFloor(db *sql.DB) (*floor, error) {
	for _, statement := range []string{
		"CREATE TABLE works (dataset INTEGER NOT NULL, key BLOB NOT NULL, id TEXT NOT NULL, updated INTEGER, of INTEGER NOT NULL, hash BLOB NOT NULL, fetched INTEGER NOT NULL, version INTEGER NOT NULL, body INTEGER NOT NULL, state TEXT NOT NULL, PRIMARY KEY (dataset, key)) STRICT, WITHOUT ROWID",
		"CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, type TEXT NOT NULL, dataset INTEGER NOT NULL, channel TEXT NOT NULL, op TEXT NOT NULL, key TEXT NOT NULL, dedup BLOB NOT NULL, body INTEGER NOT NULL, version INTEGER NOT NULL, state TEXT NOT NULL, created INTEGER NOT NULL) STRICT",
		"CREATE UNIQUE INDEX events_body ON events (body, channel)",
		"CREATE INDEX events_state ON events (state, dataset)",
		"CREATE TABLE frames (id INTEGER PRIMARY KEY, last INTEGER NOT NULL, hash BLOB NOT NULL, content BLOB NOT NULL) STRICT",
		"CREATE TABLE answers (id INTEGER PRIMARY KEY, hash BLOB NOT NULL, rest BLOB NOT NULL) STRICT",
	} {
		if _, err := db.Exec(statement); err != nil {
			return nil, err
		}
	}
	f := &floor{db: db}
	f.encoders.New = func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	}
	many := func(row string) string { return strings.TrimSuffix(strings.Repeat(row+",", floorRows), ",") }
	var err error
	if f.heads, err = db.Prepare("INSERT INTO works VALUES " + many("(1,?,?,?,0,?,?,1,?,'ACTIVE')")); err != nil {
		return nil, err
	}
	if f.events, err = db.Prepare("INSERT INTO events (type, dataset, channel, op, key, dedup, body, version, state, created) VALUES " + many("('Record',1,'records','INSERTED',?,?,?,1,'PENDING',?)")); err != nil {
		return nil, err
	}
	if f.answers, err = db.Prepare("INSERT INTO answers VALUES (?,?,?)"); err != nil {
		return nil, err
	}
	f.frames, err = db.Prepare("INSERT INTO frames VALUES (?,?,?,?)")
	return f, err
}

// floorRow is what is stored of an item.
type floorRow struct {
	key  [16]byte
	hash [sha256.Size]byte
	id   string
	at   int64
}

// floorFrame is items that were packed as one.
type floorFrame struct {
	first, last int
	packed      []byte
}

// keep stores a page. Pages have as many items as fit whole statements.
func (f *floor) keep(page []byte, items []scanned) error {
	rows := make([]floorRow, len(items))
	for i, item := range items {
		sum := sha256.Sum256(item.id)
		rows[i] = floorRow{key: [16]byte(sum[:16]), hash: sha256.Sum256(item.raw), id: string(item.id), at: int64(i)}
	}
	frames := f.pack(page, items)
	answer := sha256.Sum256(page)
	f.mu.Lock()
	defer f.mu.Unlock()
	tx, err := f.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit this does nothing
	f.batch++
	first, now := f.batch<<20, time.Now().UnixMicro()
	heads, events, add := tx.Stmt(f.heads), tx.Stmt(f.events), tx.Stmt(f.frames)
	for chunk := range slices.Chunk(rows, floorRows) {
		args := make([]any, 0, 4*floorRows)
		for i := range chunk {
			args = append(args, hex.EncodeToString(chunk[i].key[:]), chunk[i].hash[:], first+chunk[i].at, now)
		}
		if _, err := events.Exec(args...); err != nil {
			return err
		}
	}
	slices.SortFunc(rows, func(a, b floorRow) int { return bytes.Compare(a.key[:], b.key[:]) })
	for chunk := range slices.Chunk(rows, floorRows) {
		args := make([]any, 0, 6*floorRows)
		for i := range chunk {
			args = append(args, chunk[i].key[:], chunk[i].id, now, chunk[i].hash[:], now, first+chunk[i].at)
		}
		if _, err := heads.Exec(args...); err != nil {
			return err
		}
	}
	for _, part := range frames {
		sum := sha256.Sum256(part.packed)
		if _, err := add.Exec(first+int64(part.first), first+int64(part.last), sum[:], part.packed); err != nil {
			return err
		}
	}
	if _, err := tx.Stmt(f.answers).Exec(f.batch, answer[:], page[:bytes.Index(page, itemsName)]); err != nil {
		return err
	}
	return tx.Commit()
}

// pack packs items with what stands between them, as the program does: about 600 KB at once.
func (f *floor) pack(page []byte, items []scanned) (frames []floorFrame) {
	e := f.encoders.Get().(*zstd.Encoder)
	defer f.encoders.Put(e)
	place := func(part []byte) int { return cap(page) - cap(part) }
	packed := make([]byte, 0, len(page)/4)
	for i := 0; i < len(items); {
		begin, end, last := place(items[i].raw), 0, i
		for ; last < len(items) && end-begin < 600<<10; last++ {
			end = place(items[last].raw) + len(items[last].raw)
		}
		at := len(packed)
		packed = e.EncodeAll(page[begin:end], packed)
		frames = append(frames, floorFrame{i, last - 1, packed[at:len(packed):len(packed)]})
		i = last
	}
	return frames
}
