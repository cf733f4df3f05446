package check

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
)

// version is what is stored of a version of a record beside its content.
type version struct {
	id, dataset, number, before int64
	key                         string
	updated                     int64 // 0: none
}

// readVersions reads the versions of rows and of frames, in the order of their ids. Frames
// are read as docs/frames.md tells it and not by the code of the store: what judges it
// must not share its mistakes.
func readVersions(ctx context.Context, db *sql.DB) (out []version, err error) {
	err = eachRow(ctx, db, "SELECT body_id, dataset_id, version, COALESCE(prev_body_id, 0), id_hash, COALESCE(updated_at, 0) FROM ing_record_body", func(scan func(...any) error) error {
		var v version
		var key []byte
		err := scan(&v.id, &v.dataset, &v.number, &v.before, &key, &v.updated)
		v.key = string(key)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = eachRow(ctx, db, "SELECT frame_id, last_body_id, version_count, entries FROM ing_body_frame", func(scan func(...any) error) error {
		var frame, last int64
		var count int
		var table []byte
		if err := scan(&frame, &last, &count, &table); err != nil {
			return err
		}
		entries := readEntries(table)
		if len(entries) != count || count == 0 || entries[0].id < frame || entries[count-1].id > last {
			return fmt.Errorf("frame %d has %d entries of %d, or entries outside of its range", frame, len(entries), count)
		}
		out = append(out, entries...)
		return nil
	})
	slices.SortFunc(out, func(a, b version) int { return cmp.Compare(a.id, b.id) })
	return out, err
}

// readEntries reads the table of a frame.
func readEntries(table []byte) (out []version) {
	next := func() uint64 {
		n, size := binary.Uvarint(table)
		table = table[size:]
		return n
	}
	signed := func() int64 {
		n, size := binary.Varint(table)
		table = table[size:]
		return n
	}
	single := func() byte {
		n := table[0]
		table = table[1:]
		return n
	}
	format := single()
	at := version{id: int64(next())}
	count := next()
	table = table[32:]
	if format > 1 {
		between := next()
		table = table[between:]
	}
	var shared, flags byte // what all entries have in common, from format 4 on
	if format > 3 {
		shared = single()
	}
	if shared&1 != 0 {
		flags = single()
	}
	if shared&4 != 0 {
		at.dataset = signed()
	}
	if shared&8 != 0 {
		at.number = int64(next())
	}
	if shared&16 != 0 {
		signed() // when all were fetched
	}
	for i := range count {
		if shared&1 == 0 {
			flags = single()
		}
		if shared&2 == 0 {
			at.id += int64(next())
		} else if i > 0 {
			at.id++
		}
		if shared&4 == 0 {
			at.dataset += signed()
		}
		v := version{id: at.id, dataset: at.dataset, key: string(table[:16])}
		table = table[16:]
		if shared&8 == 0 {
			at.number = int64(next())
		}
		v.number = at.number
		if flags&1 != 0 {
			v.before = v.id - signed()
		}
		if flags&2 != 0 {
			at.updated += signed()
			v.updated = at.updated
		}
		if flags&4 != 0 && shared&16 == 0 {
			signed() // when it was fetched
		}
		next() // the length of the item
		next() // and of the fields
		out = append(out, v)
	}
	return out
}

// checkVersions holds versions against their records and one another.
func checkVersions(ctx context.Context, db *sql.DB) (problems []string, err error) {
	all, err := readVersions(ctx, db)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]version, len(all))
	of := map[string]int64{} // how many versions a record has
	broken := map[string]int{}
	for _, v := range all {
		if _, twice := byID[v.id]; twice {
			broken["a version stands twice"]++
		}
		byID[v.id] = v
		of[fmt.Sprint(v.dataset, v.key)]++
	}
	for _, v := range all {
		before, there := byID[v.before]
		if !there {
			continue
		}
		if before.updated > v.updated && v.updated != 0 {
			broken["I3: a body is older than the one before it"]++
		}
		if before.key != v.key || before.dataset != v.dataset || before.number+1 != v.number {
			broken["I3: a body follows another record's"]++
		}
	}
	err = eachRow(ctx, db, "SELECT dataset_id, id_hash, version, body_id FROM ing_record", func(scan func(...any) error) error {
		var dataset, number, body int64
		var key []byte
		err := scan(&dataset, &key, &number, &body)
		if v, there := byID[body]; !there || v.number != number || v.key != string(key) {
			broken["a head without its body"]++
		}
		if n := of[fmt.Sprint(dataset, string(key))]; n != 0 && n != number {
			broken["I3: versions are not 1…n"]++
		}
		return err
	})
	for rule, n := range broken {
		problems = append(problems, fmt.Sprintf("%s: %d rows", rule, n))
	}
	slices.Sort(problems)
	return problems, err
}
