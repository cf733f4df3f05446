package bodies

import (
	"cmp"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// A version stands in a row of its own or in a frame. Rows are always asked for
// first: maintenance moves versions from rows into frames, each in one transaction,
// so what is not in a row any more is in a frame by then.

// Ask asks a database, or a transaction.
type Ask = func(query string, args ...any) (*sql.Rows, error)

// Part is how much of a version is wanted.
type Part int

// Parts of a version.
const (
	KeyPart    Part = iota // what it says beside its content; nothing is unpacked
	FieldsPart             // with its fields
	WholePart              // with its fields and its item
)

func (p Part) columns() string { return [...]string{rowColumns, fieldsColumns, Columns}[p] }

// scanRow reads a row of the part's columns. A key of another length is noted.
func (p Part) scanRow(row kernel.Scanner) (b Stored, err error) {
	var scan RowScan
	places := scan.Places(&b.Key)
	if p >= FieldsPart {
		places = append(places, &b.Fields, &b.Codec)
	}
	if p == WholePart {
		places = append(places, &b.Payload)
	}
	if err = row.Scan(places...); err == nil {
		b.damage = scan.Fill(&b.Key)
	}
	return b, err
}

// keysPer is how many keys one padded list has.
const keysPer = 200

var findRows = func() (out [3]string) {
	for p := range out {
		out[p] = "SELECT " + Part(p).columns() + " FROM ing_record_body WHERE body_id IN (" + strings.TrimSuffix(strings.Repeat("?,", keysPer), ",") + ")"
	}
	return out
}()

const (
	frameColumns = "frame_id, last_body_id, version_count, codec, hash, entries"
	findFrame    = " FROM ing_body_frame WHERE frame_id <= ? ORDER BY frame_id DESC LIMIT 1"
	framesFrom   = " FROM ing_body_frame WHERE frame_id >= COALESCE((SELECT MAX(frame_id) FROM ing_body_frame WHERE frame_id <= ?), 0) AND frame_id <= ? ORDER BY frame_id LIMIT ?"

	framesAtOnce = 64 // that one query reads
)

// Find reads one version.
func Find(ask Ask, id int64, part Part) (b Stored, there bool, err error) {
	rows, err := ask("SELECT "+part.columns()+" FROM ing_record_body WHERE body_id = ?", id)
	if err != nil {
		return b, false, err
	}
	err = kernel.Each(rows, func() error {
		there = true
		b, err = part.scanRow(rows)
		return err
	})
	if err != nil || there {
		return b, there, errors.Join(err, b.damage)
	}
	in := Frames{Ask: ask, Part: part}
	if b, there, err = in.findBefore(id, math.MaxInt64); err == nil {
		err = b.damage
	}
	return b, there, err
}

// versionAlone reads what is wanted of one version of a frame, and nothing of the others in it.
func (f *Frame) versionAlone(id int64, part Part) ([]Stored, error) {
	v, there, err := f.openOne(id)
	if err != nil || !there {
		return nil, err
	}
	if part == FieldsPart {
		v.Item = nil
	}
	return []Stored{f.stored(v)}, nil
}

// stored returns a version that was read from the frame.
func (f *Frame) stored(v Version) Stored {
	b := Stored{Key: v.Key, Payload: v.Item, framed: true, frame: f.ID}
	if len(v.Fields) > 0 {
		b.Fields = v.Fields
	}
	return b
}

// FindMany reads versions by their ids, in no order; those that are not there are
// left out, and damaged ones cannot be opened. Each frame is read once.
func FindMany(ask Ask, ids []int64, part Part, use func(Stored) error) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	found := make(map[int64]bool, len(ids))
	for chunk := range slices.Chunk(ids, keysPer) {
		args := make([]any, keysPer)
		for i := range args {
			args[i] = chunk[min(i, len(chunk)-1)]
		}
		rows, err := ask(findRows[part], args...)
		if err != nil {
			return err
		}
		if err := kernel.Each(rows, func() error {
			b, err := part.scanRow(rows)
			if err != nil {
				return err
			}
			found[b.ID] = true
			return use(b)
		}); err != nil {
			return err
		}
	}
	ids = slices.DeleteFunc(ids, func(id int64) bool { return found[id] })
	in := Frames{Ask: ask, Part: part}
	for i, id := range ids {
		next := int64(math.MaxInt64)
		if i+1 < len(ids) {
			next = ids[i+1]
		}
		b, there, err := in.findBefore(id, next)
		if err != nil {
			return err
		}
		if there {
			if err := use(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Frames finds versions that have no rows of their own. It keeps the frame it read
// last, so whoever asks in the order of ids reads each frame once.
type Frames struct {
	Ask  Ask
	Part Part

	from, upto int64 // what is known of: no other frame begins in between
	versions   []Stored
	damage     error
}

// Find reads one version. One of a damaged frame cannot be opened.
func (in *Frames) Find(id int64) (b Stored, there bool, err error) { return in.findBefore(id, id) }

// findBefore reads one version, before another one is asked for. If that is in another frame, the
// version is read alone.
func (in *Frames) findBefore(id, next int64) (b Stored, there bool, err error) {
	if id < in.from || id > in.upto || in.versions == nil && in.damage == nil {
		if err := in.turnTo(id, next); err != nil {
			return b, false, err
		}
	}
	if in.damage != nil {
		return Stored{Key: Key{ID: id}, framed: true, damage: in.damage}, true, nil
	}
	i, there := slices.BinarySearchFunc(in.versions, id, func(b Stored, id int64) int { return cmp.Compare(b.ID, id) })
	if !there {
		return b, false, nil
	}
	return in.versions[i], true, nil
}

func (in *Frames) turnTo(id, next int64) error {
	in.from, in.upto, in.versions, in.damage = 0, -1, nil, nil
	f, there, err := ReadFrame(in.Ask, id, in.Part)
	if err != nil || !there {
		return err
	}
	if next > f.Last && in.Part != KeyPart {
		in.from, in.upto = id, id
		in.versions, err = f.versionAlone(id, in.Part)
	} else {
		in.from, in.upto = f.ID, f.Last
		in.versions, err = f.versionsAfter(id-1, in.Part)
	}
	if errors.Is(err, fault.ErrDamaged) {
		in.damage, in.upto, err = err, id, nil // its end may be what is damaged
	}
	return err
}

// ReadFrame reads the last frame that begins at a version or before it.
func ReadFrame(ask Ask, id int64, part Part) (f Frame, there bool, err error) {
	rows, err := ask(selectFrames(part)+findFrame, id)
	if err != nil {
		return f, false, err
	}
	return f, there, kernel.Each(rows, func() error {
		there = true
		f, err = scanFrame(rows, part)
		return err
	})
}

// FramesAround returns the last frame that begins at a version or before it, with the
// id -1 if there is none, and where the next one begins.
func FramesAround(ask Ask, id int64) (before Frame, next int64, err error) {
	before, there, err := ReadFrame(ask, id, WholePart)
	if err != nil {
		return before, 0, err
	}
	if !there {
		before.ID = -1
	}
	rows, err := ask("SELECT frame_id FROM ing_body_frame WHERE frame_id > ? ORDER BY frame_id LIMIT 1", id)
	if err != nil {
		return before, 0, err
	}
	next = math.MaxInt64
	return before, next, kernel.Each(rows, func() error { return rows.Scan(&next) })
}

func selectFrames(part Part) string {
	if part == KeyPart {
		return "SELECT " + frameColumns
	}
	return "SELECT " + frameColumns + ", content"
}

func scanFrame(row kernel.Scanner, part Part) (f Frame, err error) {
	places := []any{&f.ID, &f.Last, &f.Count, &f.Codec, &f.Hash, &f.Table}
	if part != KeyPart {
		places = append(places, &f.Content)
	}
	return f, row.Scan(places...)
}

// versions reads what is wanted of the versions of a frame.
func (f *Frame) versions(part Part) (out []Stored, err error) {
	if part == KeyPart {
		entries, err := f.Entries()
		if err != nil {
			return nil, err
		}
		out = make([]Stored, len(entries))
		for i, e := range entries {
			out[i] = Stored{Key: e.Key, framed: true, frame: f.ID}
		}
		return out, nil
	}
	open := f.Open
	if part == FieldsPart {
		open = f.openFields
	}
	whole, err := open()
	if err != nil {
		return nil, err
	}
	out = make([]Stored, len(whole))
	for i, v := range whole {
		out[i] = f.stored(v)
	}
	return out, nil
}

// Range is which versions are wanted of those that follow one another by their ids,
// and how many at once.
type Range struct {
	After, Upto int64
	Most, Bytes int // versions, and bytes of content; roughly: a frame is not divided by bytes
	Part        Part
	// Damaged: of a damaged frame one version comes that cannot be opened; otherwise it
	// is an error.
	Damaged bool
}

// ReadRange reads some versions of a range in the order of their ids. next is how far
// it came: there is nothing between the last version and next. Each frame is read once.
func ReadRange(ask Ask, r Range) (page []Stored, next int64, end bool, err error) {
	if r.After >= r.Upto {
		return nil, r.Upto, true, nil
	}
	first, err := firstRow(ask, r.After, r.Upto)
	if err != nil {
		return nil, r.After, false, err
	}
	if first > r.After+1 { // no row is before it: frames alone
		before := r
		before.Upto = first - 1
		if page, next, err = readFrames(ask, before); err != nil || len(page) > 0 {
			return page, next, next >= r.Upto, err
		}
	}
	if first > r.Upto {
		return nil, r.Upto, true, nil
	}
	rows, reached, err := readRows(ask, r)
	if err != nil {
		return nil, r.After, false, err
	}
	beside := r
	beside.Upto = reached
	framed, next, err := readFrames(ask, beside)
	if err != nil {
		return nil, r.After, false, err
	}
	page = slices.Concat(rows, framed)
	slices.SortStableFunc(page, func(a, b Stored) int { return cmp.Compare(a.ID, b.ID) })
	page = slices.CompactFunc(page, func(a, b Stored) bool { return a.ID == b.ID && b.damage == nil }) // one that was moved in between
	page = slices.DeleteFunc(page, func(b Stored) bool { return b.ID > next })
	if len(page) > r.Most {
		page = page[:r.Most]
		next = page[r.Most-1].ID
	}
	return page, next, next >= r.Upto, nil
}

// firstRow returns the first version behind one that has a row of its own, and one
// behind the range if there is none.
func firstRow(ask Ask, after, upto int64) (first int64, err error) {
	rows, err := ask("SELECT body_id FROM ing_record_body WHERE body_id > ? AND body_id <= ? ORDER BY body_id LIMIT 1", after, upto)
	if err != nil {
		return 0, err
	}
	first = upto + 1
	return first, kernel.Each(rows, func() error { return rows.Scan(&first) })
}

func readRows(ask Ask, r Range) (page []Stored, reached int64, err error) {
	rows, err := ask("SELECT "+r.Part.columns()+" FROM ing_record_body WHERE body_id > ? AND body_id <= ? ORDER BY body_id LIMIT ?", r.After, r.Upto, r.Most)
	if err != nil {
		return nil, r.After, err
	}
	size, last := 0, r.After
	err = kernel.Each(rows, func() error {
		b, err := r.Part.scanRow(rows)
		if err != nil {
			return err
		}
		if b.ID <= last || b.ID > r.Upto { // a part of the table is not where it belongs
			return b.Damaged(OutOfPlace)
		}
		if b.damage != nil && !r.Damaged {
			return b.damage
		}
		page, last = append(page, b), b.ID
		if size += len(b.Fields) + len(b.Payload); r.Bytes > 0 && size > r.Bytes {
			return kernel.ErrEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, kernel.ErrEnough):
		return page, last, nil
	case err != nil:
		return nil, r.After, err
	case len(page) == r.Most:
		return page, last, nil
	}
	return page, r.Upto, nil
}

// ReadRows reads some versions of a range that have rows of their own. next and end
// are as for ReadRange.
func ReadRows(ask Ask, r Range) (page []Stored, next int64, end bool, err error) {
	page, next, err = readRows(ask, r)
	return page, next, next >= r.Upto, err
}

// OutOfPlace is what is wrong with a version that is not where its id belongs.
const OutOfPlace = "it is not in its place"

// readFrames reads versions of frames. reached is up to where all that are in frames
// were seen. A damaged frame comes alone.
func readFrames(ask Ask, r Range) (page []Stored, reached int64, err error) {
	rows, err := ask(selectFrames(r.Part)+framesFrom, r.After, r.Upto, framesAtOnce)
	if err != nil {
		return nil, r.After, err
	}
	size, seen, last := 0, 0, int64(-1)
	var bad *damagedFrame
	err = kernel.Each(rows, func() error {
		f, err := scanFrame(rows, r.Part)
		if err != nil {
			return err
		}
		seen++
		if bad != nil {
			if bad.end(f.ID) > r.After {
				page, reached = bad.standIn(r, f.ID)
				return kernel.ErrEnough
			}
			bad = nil // it was told before
		}
		if f.ID <= last {
			return f.damaged(errors.New(OutOfPlace))
		}
		versions, err := f.versionsAfter(r.After, r.Part)
		switch {
		case !r.Damaged || !errors.Is(err, fault.ErrDamaged):
			last = f.Last
		case len(page) > 0:
			reached = f.ID - 1
			return kernel.ErrEnough
		default:
			last, bad = f.ID, &damagedFrame{f, err}
			return nil
		}
		if err != nil {
			return err
		}
		for _, b := range versions {
			if b.ID <= r.After || b.ID > r.Upto {
				continue
			}
			page = append(page, b)
			size += len(b.Fields) + len(b.Payload)
			if reached = b.ID; len(page) == r.Most {
				return kernel.ErrEnough
			}
		}
		if reached = min(f.Last, r.Upto); len(page) > 0 && r.Bytes > 0 && size > r.Bytes {
			return kernel.ErrEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, kernel.ErrEnough):
		return page, reached, nil
	case err != nil:
		return nil, r.After, err
	case bad != nil && bad.end(r.Upto+1) > r.After:
		page, reached = bad.standIn(r, r.Upto+1)
		return page, reached, nil
	case seen == framesAtOnce:
		return page, reached, nil
	}
	return page, r.Upto, nil
}

// damagedFrame stands in for the versions of a frame that cannot be read.
type damagedFrame struct {
	Frame
	damage error
}

// end returns where it ends. What it says of that may be damaged too: then it ends
// where the next one begins.
func (d *damagedFrame) end(next int64) int64 {
	if d.ID <= d.Last && d.Last < next {
		return d.Last
	}
	return next - 1
}

// standIn returns one version that cannot be opened, and how far the frame goes.
func (d *damagedFrame) standIn(r Range, next int64) (page []Stored, reached int64) {
	reached = min(d.end(next), r.Upto)
	return []Stored{{Key: Key{ID: reached}, framed: true, frame: d.ID, damage: d.damage}}, reached
}

// versionsAfter reads what is wanted of the versions of a frame, nothing if it ends
// before they begin. That it does is read from its table: its row may be damaged.
func (f *Frame) versionsAfter(after int64, part Part) ([]Stored, error) {
	if f.Last <= after {
		_, err := f.Entries()
		return nil, err
	}
	return f.versions(part)
}

// Bounds returns the first and the last version there are; 0 if there are none.
func Bounds(ask Ask) (first, last int64, err error) {
	for _, query := range [...]string{
		"SELECT body_id, body_id FROM ing_record_body ORDER BY body_id LIMIT 1", "SELECT body_id, body_id FROM ing_record_body ORDER BY body_id DESC LIMIT 1",
		"SELECT frame_id, last_body_id FROM ing_body_frame ORDER BY frame_id LIMIT 1", "SELECT frame_id, last_body_id FROM ing_body_frame ORDER BY frame_id DESC LIMIT 1",
	} {
		rows, err := ask(query)
		if err != nil {
			return 0, 0, err
		}
		if err := kernel.Each(rows, func() error {
			var from, to int64
			err := rows.Scan(&from, &to)
			if first == 0 || from < first {
				first = from
			}
			last = max(last, to)
			return err
		}); err != nil {
			return 0, 0, err
		}
	}
	return first, last, nil
}

// LastUpto returns the last version up to an id.
func LastUpto(ask Ask, id int64) (b Stored, there bool, err error) {
	rows, err := ask("SELECT "+rowColumns+" FROM ing_record_body WHERE body_id <= ? ORDER BY body_id DESC LIMIT 1", id)
	if err != nil {
		return b, false, err
	}
	if err = kernel.Each(rows, func() error {
		there = true
		b, err = KeyPart.scanRow(rows)
		return errors.Join(err, b.damage)
	}); err != nil {
		return b, false, err
	}
	f, framed, err := ReadFrame(ask, id, KeyPart)
	if err != nil || !framed || there && f.Last <= b.ID {
		return b, there, err
	}
	versions, err := f.versions(KeyPart)
	if err != nil {
		return b, there, err
	}
	for _, v := range versions {
		if v.ID <= id && (!there || v.ID > b.ID) {
			b, there = v, true
		}
	}
	return b, there, nil
}

// CountVersions counts the versions of batches behind one up to another, by batch. A
// version that is moved into a frame meanwhile may be counted twice.
func CountVersions(ask Ask, after, upto int64) (map[int64]int64, error) {
	r := Range{After: ID(after+1, 0) - 1, Upto: ID(upto+1, 0) - 1, Most: math.MaxInt}
	rows, err := ask("SELECT body_id >> "+strconv.Itoa(Bits)+" batch, COUNT(*) FROM ing_record_body WHERE body_id > ? AND body_id <= ? GROUP BY batch", r.After, r.Upto)
	if err != nil {
		return nil, err
	}
	there := map[int64]int64{}
	if err := kernel.Each(rows, func() error {
		var batch, n int64
		err := rows.Scan(&batch, &n)
		there[batch] = n
		return err
	}); err != nil {
		return nil, err
	}
	for r.After < r.Upto {
		page, reached, err := readFrames(ask, r)
		if err != nil {
			return nil, err
		}
		for i := range page {
			there[page[i].ID>>Bits]++
		}
		r.After = reached
	}
	return there, nil
}

// CountBatch counts the versions of one batch, each once.
func CountBatch(ask Ask, batch int64) (n int64, err error) {
	r := Range{After: ID(batch, 0) - 1, Upto: ID(batch+1, 0) - 1, Most: countAtOnce}
	for end := false; !end; {
		var page []Stored
		if page, r.After, end, err = ReadRange(ask, r); err != nil {
			return n, err
		}
		n += int64(len(page))
	}
	return n, nil
}

const countAtOnce = 5000

// wholeAtOnce is how many frames are read with their content by who looks at all.
const wholeAtOnce = 16

// ReadWhole reads some frames behind one, whatever state they are in.
func ReadWhole(ask Ask, after int64) (out []Frame, err error) {
	rows, err := ask(selectFrames(WholePart)+" FROM ing_body_frame WHERE frame_id > ? ORDER BY frame_id LIMIT ?", after, wholeAtOnce)
	if err != nil {
		return nil, err
	}
	return out, kernel.Each(rows, func() error {
		f, err := scanFrame(rows, WholePart)
		out = append(out, f)
		return err
	})
}

// LockFrame reads a frame by its id. lock is what a database takes that locks rows.
func LockFrame(ask Ask, id int64, lock string) (f Frame, there bool, err error) {
	rows, err := ask(selectFrames(WholePart)+" FROM ing_body_frame WHERE frame_id = ?"+lock, id)
	if err != nil {
		return f, false, err
	}
	return f, there, kernel.Each(rows, func() error {
		there = true
		f, err = scanFrame(rows, WholePart)
		return err
	})
}
