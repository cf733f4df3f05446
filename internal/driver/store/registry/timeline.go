package registry

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
)

// storedRow is one dated row of a registry table.
type storedRow struct {
	id       int64
	of       int64 // the provenance
	row      registry.Row
	from, to time.Time // [from, to); a zero to is open
}

func (r storedRow) isOpen() bool { return r.to.IsZero() }

// inForce reports whether a row holds at an instant.
func (r storedRow) inForce(at time.Time) bool {
	return !r.from.After(at) && (r.isOpen() || r.to.After(at))
}

// justBefore reports whether a row holds in the last moment before an instant.
func (r storedRow) justBefore(at time.Time) bool {
	return r.from.Before(at) && (r.isOpen() || !r.to.Before(at))
}

// timeline is what is known of a source from now on, and the range of it that
// a version is to be written into.
type timeline struct {
	rows  []storedRow // ACTIVE, with an end not before now
	now   time.Time
	at    time.Time // the version begins
	until time.Time // the next one that stays begins; zero if none does
}

// nextVersion returns when the first version after the instant begins.
func (l timeline) nextVersion() (next time.Time) {
	for _, r := range l.rows {
		if r.row.Table == registry.SourceTable && r.from.After(l.at) && (next.IsZero() || r.from.Before(next)) {
			next = r.from
		}
	}
	return next
}

// isLater reports whether a row belongs to versions that stay.
func (l timeline) isLater(r storedRow) bool { return !l.until.IsZero() && !r.from.Before(l.until) }

// fallsShort reports whether a row ends before the range does.
func (l timeline) fallsShort(r storedRow) bool {
	return !r.isOpen() && (l.until.IsZero() || r.to.Before(l.until))
}

// outlastsVersion reports whether a row is also part of the version that comes next.
func (l timeline) outlastsVersion(r storedRow) bool {
	return !l.until.IsZero() && (r.isOpen() || r.to.After(l.until))
}

func (l timeline) rowsBefore() []storedRow {
	return slices.DeleteFunc(slices.Clone(l.rows), func(r storedRow) bool { return !r.justBefore(l.at) })
}

func (l timeline) currentRows() []storedRow {
	return slices.DeleteFunc(slices.Clone(l.rows), func(r storedRow) bool { return !r.inForce(l.at) })
}

// holdsSource reports whether the source is as src says for the whole range. It asks
// for the meaning, not for the rows: another way to write a setting is no change.
func (l timeline) holdsSource(src *registry.Source) bool {
	if !l.until.IsZero() && !l.until.After(l.now) {
		return false // it was once, and is something else by now
	}
	for _, r := range l.rows {
		if r.from.After(l.at) && !l.isLater(r) || r.inForce(l.at) && l.fallsShort(r) {
			return false
		}
	}
	stored, err := sourceOf(l.currentRows())
	return err == nil && stored != nil && len(registry.Diff(stored, src)) == 0
}

// checkOver refuses a change that was made from another definition than the one in force now.
// It is asked inside the step: of two who change the same version, the second is told.
func (l timeline) checkOver(code string, over *string) error {
	if over == nil {
		return nil
	}
	now := timeline{rows: l.rows, at: l.now}
	stored, err := sourceOf(now.currentRows())
	switch {
	case err != nil:
		return err
	case stored == nil && *over == "" || stored != nil && stored.Fingerprint() == *over:
		return nil
	}
	return &registry.ChangedError{Code: code, New: *over == ""}
}

// sourceOf reads rows back; nil if there are none.
func sourceOf(stored []storedRow) (*registry.Source, error) {
	if len(stored) == 0 {
		return nil, nil
	}
	rows := make([]registry.Row, len(stored))
	for i, r := range stored {
		rows[i] = r.row
	}
	return registry.FromRows(rows)
}

// versionChange is what has to be written so that a source is another one for a range.
type versionChange struct {
	end        []storedRow // end at the instant
	prolong    []storedRow // were to end too early, and now last
	resume     []storedRow // begin anew with the version that comes next
	retire     []storedRow // never begin
	open       []registry.Row
	newVersion bool
	ownChanged int // rows that say something new about the source itself; they are written with the version
}

// touchesTable reports whether rows of a table begin or end.
func (c versionChange) touchesTable(table string) bool {
	of := func(r storedRow) bool { return r.row.Table == table }
	return slices.ContainsFunc(c.end, of) || slices.ContainsFunc(c.retire, of) || slices.ContainsFunc(c.prolong, of) ||
		slices.ContainsFunc(c.open, func(r registry.Row) bool { return r.Table == table })
}

// planTurn works out the rule of ApplySource.
func (l timeline) planTurn(wanted []registry.Row) versionChange {
	var change versionChange
	stored := map[slot][]storedRow{}
	for _, r := range l.rows {
		stored[slotOf(r.row)] = append(stored[slotOf(r.row)], r)
	}
	for _, row := range wanted {
		rows := stored[slotOf(row)]
		delete(stored, slotOf(row))
		if row.Table == registry.SourceTable {
			change.placeVersions(rows, l, wanted)
		} else if !change.placeSlot(rows, l, func(r storedRow) bool { return sameRow(r.row, row) }) {
			change.open = append(change.open, row)
		}
	}
	for _, gone := range stored {
		change.placeSlot(gone, l, func(storedRow) bool { return false })
	}
	return change
}

// slot is what at any instant at most one row is for.
type slot struct{ table, endpoint, operation, key string }

func slotOf(r registry.Row) slot { return slot{r.Table, r.Endpoint, r.Operation, r.Key} }

// placeSlot decides on the rows of one slot. What held before stays if it says what
// is wanted; else what was to begin at the instant stays if it does.
func (c *versionChange) placeSlot(rows []storedRow, l timeline, says func(storedRow) bool) (kept bool) {
	keep := slices.IndexFunc(rows, func(r storedRow) bool { return r.justBefore(l.at) && says(r) })
	if keep < 0 {
		keep = slices.IndexFunc(rows, func(r storedRow) bool { return r.from.Equal(l.at) && says(r) })
	}
	for i, r := range rows {
		switch {
		case l.isLater(r):
		case i == keep && l.fallsShort(r):
			c.prolong = append(c.prolong, r)
		case i == keep:
		case !r.from.Before(l.at):
			c.retire = append(c.retire, r)
			c.resumeAfter(l, r)
		case r.isOpen() || r.to.After(l.at):
			c.end = append(c.end, r)
			c.resumeAfter(l, r)
		}
	}
	return keep >= 0
}

// resumeAfter gives the next version its own copy of a row that it shared.
func (c *versionChange) resumeAfter(l timeline, r storedRow) {
	if l.outlastsVersion(r) {
		c.resume = append(c.resume, storedRow{row: r.row, from: l.until, to: r.to})
	}
}

// placeVersions does so for the source as a whole: a version begins where
// anything changes, whether or not its own row says something new.
func (c *versionChange) placeVersions(versions []storedRow, l timeline, wanted []registry.Row) {
	before, current := l.rowsBefore(), l.currentRows()
	asBefore, asHere := sameRows(before, wanted), sameRows(current, wanted)
	c.newVersion = !c.placeSlot(versions, l, func(r storedRow) bool {
		return r.justBefore(l.at) && asBefore || r.from.Equal(l.at) && asHere
	})
	switch old := ownStored(before); {
	case old == nil:
		c.ownChanged = 1
	case !sameRow(old.row, ownRow(wanted)):
		c.ownChanged = 2 // one ends, one begins
	}
}

// sameRows compares what is stored with what is wanted.
func sameRows(stored []storedRow, wanted []registry.Row) bool {
	return len(differingTables(stored, wanted)) == 0
}

// differingTables lists where what is stored says something else.
func differingTables(stored []storedRow, wanted []registry.Row) []string {
	names := []string{}
	held := map[slot]registry.Row{}
	for _, r := range stored {
		held[slotOf(r.row)] = r.row
	}
	for _, row := range wanted {
		if other, ok := held[slotOf(row)]; !ok || !sameRow(other, row) {
			names = append(names, row.Table)
		}
		delete(held, slotOf(row))
	}
	for _, row := range held {
		names = append(names, row.Table)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func ownRow(rows []registry.Row) registry.Row {
	return rows[slices.IndexFunc(rows, func(r registry.Row) bool { return r.Table == registry.SourceTable })]
}

func ownStored(rows []storedRow) *storedRow {
	for i, r := range rows {
		if r.row.Table == registry.SourceTable {
			return &rows[i]
		}
	}
	return nil
}

// countChanges counts rows of settings. The row of a version counts if it says
// something new about the source itself.
func (c versionChange) countChanges() int {
	n := len(c.open) + c.ownChanged
	for _, r := range slices.Concat(c.end, c.prolong, c.retire) {
		if r.row.Table != registry.SourceTable {
			n++
		}
	}
	return n
}

func (c versionChange) countSuperseded() (n int) {
	for _, r := range c.retire {
		if r.row.Table == registry.SourceTable {
			n++
		}
	}
	return n
}

// changedTables lists where settings change.
func (c versionChange) changedTables() []string {
	names := []string{}
	for _, r := range slices.Concat(c.end, c.prolong, c.retire) {
		if r.row.Table != registry.SourceTable {
			names = append(names, r.row.Table)
		}
	}
	for _, r := range c.open {
		names = append(names, r.Table)
	}
	if c.ownChanged > 0 {
		names = append(names, registry.SourceTable)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
