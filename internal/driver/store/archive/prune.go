package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/look"
)

// PruneVersions removes older versions of records, some at a time (D§5.19). Bodies
// are looked at in the order in which they came, each once: a body tells that the
// version before it was replaced when it was stored. So a version goes when the one
// that came keep versions later is old itself, and what was current at the instant
// stays, like all that came after it. What the outbox refers to stays, and is
// looked at again by the next run. So does what is damaged: it is told and left alone.
//
// after is where the last call stopped, -1 at the start of a run; the answer says
// where this one did, and whether the run has come to its end.
func (s *Archive) PruneVersions(ctx context.Context, before time.Time, keep int, after int64, limit int) (pruned retention.Pruned, next int64, end bool, err error) {
	err = s.step(ctx, "prune versions", kernel.Bulk, func(t *tx) error {
		look, err := lookForOld(t.Query, t.Row, before, keep, after, limit)
		if err != nil {
			return err
		}
		if look.done.Versions > 0 {
			if err := t.notePruned(); err != nil {
				return err
			}
		}
		small, err := look.removal.Do(t.Tx)
		if err != nil {
			return err
		}
		crash.At(crash.Pruning)
		if err := t.noteSmall(small); err != nil {
			return err
		}
		pruned, next, end = look.done, look.next, look.end
		if look.stuck || next == look.from {
			return nil // the mark waits for what is held, and for what may be healed
		}
		return t.markIfAt(look.mark, look.from, next)
	})
	return pruned, next, end, err
}

// OldVersions finds what PruneVersions would remove.
func (s *Archive) OldVersions(ctx context.Context, before time.Time, keep int, after int64, limit int) (would retention.Pruned, next int64, end bool, err error) {
	row := func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }
	look, err := lookForOld(s.db.Ask(ctx), row, before, keep, after, limit)
	return look.done, look.next, look.end, kernel.Wrap("count old versions", s.db.Translate(err))
}

// pruneLook is what one step of pruning found.
type pruneLook struct {
	mark       string
	from, next int64
	end        bool
	stuck      bool // something that is old stays: the mark must not pass it
	removal    bodies.Removal
	done       retention.Pruned
}

// lookForOld looks at some versions, from where the last call stopped.
func lookForOld(ask bodies.Ask, row func(string, ...any) kernel.Scanner, before time.Time, keep int, after int64, limit int) (l pruneLook, err error) {
	l.mark = fmt.Sprintf("versions/%d", keep)
	l.from, l.next = after, after
	at, err := markAt(row, l.mark)
	if err != nil {
		return l, err
	}
	if after < 0 {
		l.from, l.next = at, at
	}
	l.stuck = at != l.from
	page, last, err := versionPage(ask, before, l.from, limit)
	if err != nil {
		return l, err
	}
	looked, err := l.pickDisposable(ask, row, page, keep)
	if err != nil {
		return l, err
	}
	if l.end = last && looked == len(page); looked > 0 {
		l.next = page[looked-1].body
	}
	versions, _ := l.removal.Versions()
	l.done.Versions = int64(versions)
	return l, nil
}

// replacement is a body that replaced another one.
type replacement struct {
	body, before int64
	damage       error // that keeps from knowing what it replaced
}

// versionPage reads bodies up to the first young one. An item that was read again
// from a kept answer is stored long after it was fetched; what it replaced was
// current until then, and an export that is under way may need it. A batch that has
// left the database is older than anything may be asked for (retention.Least).
func versionPage(ask bodies.Ask, before time.Time, after int64, limit int) (out []replacement, end bool, err error) {
	page, _, end, err := bodies.ReadRange(ask, bodies.Range{After: after, Upto: math.MaxInt64 - 1, Most: limit, Part: bodies.KeyPart, Damaged: true})
	if err != nil {
		return nil, false, err
	}
	stored, err := look.BatchTimes(ask, page)
	if err != nil {
		return nil, false, err
	}
	for i := range page {
		if max(page[i].Fetched, stored[page[i].ID>>bodies.Bits]) >= before.UnixMicro() {
			return out, true, nil
		}
		out = append(out, replacement{page[i].ID, page[i].Prev, page[i].Unreadable()})
	}
	return out, end, nil
}

// framesPerStep is how many frames a step may have to write anew: it must be short.
const framesPerStep = 50

// pickDisposable finds the bodies that are keep versions before a page of bodies, and
// says how much of the page it looked at.
func (l *pruneLook) pickDisposable(ask bodies.Ask, row func(string, ...any) kernel.Scanner, page []replacement, keep int) (looked int, err error) {
	for i, of := range page {
		if _, frames := l.removal.Versions(); frames == framesPerStep {
			break
		}
		looked = i + 1
		err := of.damage
		if err == nil {
			err = l.pickBefore(ask, row, of.before, keep)
		}
		if errors.Is(err, fault.ErrDamaged) {
			l.stuck = true
			l.done.Add(retention.Pruned{Damaged: []string{err.Error()}})
		} else if err != nil {
			return 0, err
		}
	}
	return looked, nil
}

// pickBefore notes the version that is to go because of a newer one, if there is one.
// It stays while an older one of its record does: only through it that one is found.
func (l *pruneLook) pickBefore(ask bodies.Ask, row func(string, ...any) kernel.Scanner, body int64, keep int) error {
	b, there, err := versionBefore(ask, body, keep)
	if err != nil || !there {
		return err // there is none, or it was removed before
	}
	var one int
	held, err := kernel.Found(row("SELECT 1 FROM ing_outbox_message WHERE body_id = ? LIMIT 1", b.ID).Scan(&one))
	if err == nil && !held && l.stuck && b.Prev != 0 && !l.removal.Has(b.Prev) {
		_, held, err = bodies.Find(ask, b.Prev, bodies.KeyPart)
	}
	if err != nil {
		return err
	}
	if held {
		l.stuck = true
		l.done.Held++
		return nil
	}
	return l.removal.Add(ask, b)
}

// versionBefore follows a record back by some versions, of which the first is given.
func versionBefore(ask bodies.Ask, body int64, n int) (b bodies.Stored, there bool, err error) {
	for range n {
		if body == 0 {
			return b, false, nil
		}
		if b, there, err = bodies.Find(ask, body, bodies.KeyPart); err != nil || !there {
			return b, false, err
		}
		body = b.Prev
	}
	return b, there, nil
}

// PruneMessages removes outbox rows that were published before an instant, some
// at a time, oldest first. after, next and end are as for PruneVersions.
func (s *Archive) PruneMessages(ctx context.Context, before time.Time, after int64, limit int) (deleted, next int64, end bool, err error) {
	err = s.step(ctx, "prune messages", kernel.Bulk, func(t *tx) error {
		next = after
		if after < 0 {
			if next, err = markAt(t.Row, "messages"); err != nil {
				return err
			}
			if any, err := anyPublished(t.Row); err != nil || !any {
				end = true
				return err
			}
		}
		from := next
		page, err := messagePage(t.Query, t.Dialect().ForUpdate, before, next, limit)
		if err != nil {
			return err
		}
		deleted = int64(len(page.gone))
		if err := t.ExecIn("DELETE FROM ing_outbox_message WHERE id IN ", page.gone); err != nil {
			return err
		}
		if end = page.looked < limit; page.last > 0 {
			next = page.last
		}
		if int(deleted) < page.looked || next == from {
			return nil // something stays there: it is looked at again
		}
		return t.markIfAt("messages", from, next)
	})
	return deleted, next, end, err
}

// anyPublished spares a look at every message where no events are published.
func anyPublished(row func(string, ...any) kernel.Scanner) (bool, error) {
	var one int
	return kernel.Found(row("SELECT 1 FROM ing_outbox_message WHERE status_code IN ('PUBLISHED','SKIPPED') LIMIT 1").Scan(&one))
}

// OldMessages finds what PruneMessages would remove.
func (s *Archive) OldMessages(ctx context.Context, before time.Time, after int64, limit int) (would, next int64, end bool, err error) {
	row := func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }
	next = after
	if after < 0 {
		any, err := anyPublished(row)
		if err == nil {
			next, err = markAt(row, "messages")
		}
		if err != nil || !any {
			return 0, next, true, kernel.Wrap("count old messages", s.db.Translate(err))
		}
	}
	page, err := messagePage(func(query string, args ...any) (*sql.Rows, error) { return s.db.Query(ctx, query, args...) }, "", before, next, limit)
	if page.last > 0 {
		next = page.last
	}
	return int64(len(page.gone)), next, page.looked < limit, kernel.Wrap("count old messages", s.db.Translate(err))
}

// PruneUnclaimed removes events that were written before an instant in a database that
// nobody publishes from: no relay ever tried to deliver one, and none was delivered or
// skipped. Where one did, nothing is removed: what waits there waits for a receiver.
// after, next and end are as for PruneVersions.
func (s *Archive) PruneUnclaimed(ctx context.Context, before time.Time, after int64, limit int) (deleted, next int64, end bool, err error) {
	err = s.step(ctx, "prune unclaimed", kernel.Bulk, func(t *tx) error {
		var old []int64
		if old, next, end, err = unclaimed(t.Row, t.Query, t.Dialect().ForUpdate, before, after, limit); err != nil || len(old) == 0 {
			return err
		}
		deleted = int64(len(old))
		return t.ExecIn("DELETE FROM ing_outbox_message WHERE id IN ", old)
	})
	return deleted, next, end, err
}

// OldUnclaimed finds what PruneUnclaimed would remove.
func (s *Archive) OldUnclaimed(ctx context.Context, before time.Time, after int64, limit int) (would, next int64, end bool, err error) {
	row := func(query string, args ...any) kernel.Scanner { return s.db.QueryRow(ctx, query, args...) }
	old, next, end, err := unclaimed(row, func(query string, args ...any) (*sql.Rows, error) { return s.db.Query(ctx, query, args...) }, "", before, after, limit)
	return int64(len(old)), next, end, kernel.Wrap("count unclaimed events", s.db.Translate(err))
}

// unclaimed reads some events that nobody asked for, oldest first. A relay that begins
// meanwhile finds them locked or gone: none of them was promised to anybody.
func unclaimed(row func(string, ...any) kernel.Scanner, query func(string, ...any) (*sql.Rows, error), lock string, before time.Time, after int64, limit int) (old []int64, next int64, end bool, err error) {
	for _, claim := range []string{
		"SELECT 1 FROM ing_named_lease WHERE name LIKE 'relay/%' LIMIT 1", // stays for ever
		"SELECT 1 FROM ing_outbox_relay_log LIMIT 1",
		"SELECT 1 FROM ing_outbox_message WHERE status_code IN ('PUBLISHED','SKIPPED','FAILED','DEAD') LIMIT 1",
		"SELECT 1 FROM ing_upkeep_mark WHERE name = 'messages' AND position > 0",
	} {
		var one int
		if claimed, err := kernel.Found(row(claim).Scan(&one)); claimed || err != nil {
			return nil, after, true, err
		}
	}
	next = max(after, 0)
	rows, err := query("SELECT id, created_at FROM ing_outbox_message WHERE id > ? AND status_code = 'PENDING' ORDER BY id LIMIT ?"+lock, next, limit)
	if err != nil {
		return nil, next, false, err
	}
	looked := 0
	err = kernel.Each(rows, func() error {
		var id, created int64
		err := rows.Scan(&id, &created)
		if looked++; err != nil || created >= before.UnixMicro() {
			end = true
			return err
		}
		if !end {
			old, next = append(old, id), id
		}
		return nil
	})
	return old, next, end || looked < limit, err
}

// messages is a part of the outbox in the order in which it was written.
type messages struct {
	gone   []int64
	looked int
	last   int64
}

// messagePage reads some messages. Who removes them locks them: a replay may put one
// back that was delivered a moment ago, and then it waits again.
func messagePage(query func(string, ...any) (*sql.Rows, error), lock string, before time.Time, after int64, limit int) (page messages, err error) {
	rows, err := query("SELECT id, status_code, published_at, created_at FROM ing_outbox_message WHERE id > ? ORDER BY id LIMIT ?"+lock, after, limit)
	if err != nil {
		return page, err
	}
	young := false
	return page, kernel.Each(rows, func() error {
		var id, created int64
		var published sql.NullInt64
		var status string
		err := rows.Scan(&id, &status, &published, &created)
		if young = young || created >= before.UnixMicro(); young || err != nil {
			return err
		}
		page.looked++
		page.last = id
		if status == "PUBLISHED" && published.Valid && published.Int64 < before.UnixMicro() || status == "SKIPPED" {
			page.gone = append(page.gone, id)
		}
		return nil
	})
}
