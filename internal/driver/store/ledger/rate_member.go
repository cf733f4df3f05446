package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// Attend says that a process sends requests and up to whom it has made room, and
// lists all that do. A process that is new, does something else than before, or
// was not heard for too long joins: it gets a number above all others, and may
// send once they have made room for it (I11). Repeating it changes nothing but
// how long it holds (I8).
func (s *Ledger) Attend(ctx context.Context, me gate.Member, hold time.Duration) (members []gate.Member, err error) {
	err = s.step(ctx, "attend", kernel.Urgent, func(t *tx) error {
		known, err := t.Affected("UPDATE ing_rate_member SET seen_no = ?, void_at = ? WHERE executor_id = ? AND executes = ? AND joined_no = ? AND void_at >= ?",
			me.Seen, kernel.Micros(t.Now.Add(hold)), me.ID, kernel.BoolInt(me.Executes), me.No, kernel.Micros(t.Now))
		if err == nil && known == 0 {
			err = t.joinMembers(me, t.Now.Add(hold))
		}
		if err != nil {
			return err
		}
		members, err = t.readMembers()
		return err
	})
	return members, err
}

// joinMembers takes the next number. Its row is locked until the join can be
// seen, so whoever has a higher number has seen all lower ones.
func (t *tx) joinMembers(me gate.Member, until time.Time) error {
	n, err := t.Affected("UPDATE ing_rate_member SET joined_no = joined_no + 1 WHERE executor_id = ''")
	if err != nil {
		return err
	}
	if n == 0 { // who comes second finds the row when the step is redone
		if _, err := t.Exec("INSERT INTO ing_rate_member (executor_id, executes, joined_no, seen_no, void_at) VALUES ('',0,1,0,-1)"); err != nil {
			return err
		}
	}
	var no int64
	if err := t.Row("SELECT joined_no FROM ing_rate_member WHERE executor_id = ''").Scan(&no); err != nil {
		return err
	}
	if _, err := t.Exec("DELETE FROM ing_rate_member WHERE executor_id <> '' AND (executor_id = ? OR void_at < ?)", me.ID, kernel.Micros(t.Now)); err != nil {
		return err
	}
	_, err = t.Exec("INSERT INTO ing_rate_member (executor_id, executes, joined_no, seen_no, void_at) VALUES (?,?,?,?,?)",
		me.ID, kernel.BoolInt(me.Executes), no, no, kernel.Micros(until))
	return err
}

const membersSQL = "SELECT executor_id, executes, joined_no, seen_no FROM ing_rate_member WHERE executor_id <> '' AND void_at >= ? ORDER BY executor_id"

func (t *tx) readMembers() ([]gate.Member, error) {
	rows, err := t.Query(membersSQL, kernel.Micros(t.Now))
	if err != nil {
		return nil, err
	}
	return scanMembers(rows)
}

func scanMembers(rows *sql.Rows) (out []gate.Member, err error) {
	return out, kernel.Each(rows, func() error {
		var m gate.Member
		err := rows.Scan(&m.ID, &m.Executes, &m.No, &m.Seen)
		out = append(out, m)
		return err
	})
}

// RateMembers lists the processes that share the limits, for one that only looks.
func (s *Ledger) RateMembers(ctx context.Context) ([]gate.Member, error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, membersSQL, kernel.Micros(now))
	if err != nil {
		return nil, kernel.Wrap("list senders", s.db.Translate(err))
	}
	out, err := scanMembers(rows)
	return out, kernel.Wrap("list senders", err)
}

// Depart removes a process that sends nothing more. The others need not wait
// until it is void.
func (s *Ledger) Depart(ctx context.Context, id string) error {
	return s.step(ctx, "depart", kernel.Urgent, func(t *tx) error { return t.departMember(id) })
}

func (t *tx) departMember(id string) error {
	_, err := t.Exec("DELETE FROM ing_rate_member WHERE executor_id = ? AND executor_id <> ''", id)
	return err
}

// ReserveSends takes instants at which requests of a key may leave out of the
// bucket all processes share.
func (s *Ledger) ReserveSends(ctx context.Context, key string, r gate.Reservation) (out gate.Instants, err error) {
	var b gate.Slots
	var known bool
	err = s.stepFrom(ctx, "reserve sends", kernel.Urgent, func(t *tx) (err error) {
		b, known, err = t.bucketOf(key)
		return err
	}, func(t *tx) error {
		var until sql.NullInt64
		if _, err := kernel.Found(t.Row(coolingSQL, key).Scan(&until)); err != nil {
			return err
		}
		out = b.Reserve(r, kernel.Instant(until), t.Now)
		return t.saveBucket(key, b, known)
	})
	return out, err
}

// bucketOf locks the bucket of a key and tells the time with it.
func (t *tx) bucketOf(key string) (b gate.Slots, known bool, err error) {
	var clock, empty, rateUntil, burstUntil sql.NullInt64
	known, err = kernel.Found(t.Row("SELECT "+t.ClockColumn()+", empty_at, per_second, per_second_until, burst, burst_until FROM ing_rate_slot WHERE rate_key = ?"+
		t.Dialect().ForUpdate, key).Scan(&clock, &empty, &b.PerSecond, &rateUntil, &b.Burst, &burstUntil))
	if err != nil {
		return b, known, err
	}
	if !known {
		return b, known, t.ReadClock()
	}
	t.SetClock(clock)
	b.Empty, b.PerSecondUntil, b.BurstUntil = kernel.Instant(empty), kernel.Instant(rateUntil), kernel.Instant(burstUntil)
	return b, known, nil
}

func (t *tx) saveBucket(key string, b gate.Slots, known bool) error {
	if known {
		return t.ExecOne("UPDATE ing_rate_slot SET empty_at = ?, per_second = ?, per_second_until = ?, burst = ?, burst_until = ? WHERE rate_key = ?",
			kernel.Micros(b.Empty), b.PerSecond, kernel.Micros(b.PerSecondUntil), b.Burst, kernel.Micros(b.BurstUntil), key)
	}
	if b.Empty.IsZero() {
		b.Empty = t.Now.Add(-time.Hour)
	}
	_, err := t.Exec("INSERT INTO ing_rate_slot (rate_key, empty_at, per_second, per_second_until, burst, burst_until) VALUES (?,?,?,?,?,?)",
		key, kernel.Micros(b.Empty), b.PerSecond, kernel.Micros(b.PerSecondUntil), b.Burst, kernel.Micros(b.BurstUntil))
	return err
}

// PauseOf returns for how long nothing of a key may leave because its upstream
// asked for a pause, and the time. It costs one look by primary key, made before
// every request while several processes send.
func (s *Ledger) PauseOf(ctx context.Context, key string) (pause time.Duration, now time.Time, err error) {
	var clock, until sql.NullInt64
	err = s.db.QueryRow(ctx, "SELECT "+cmp.Or(s.db.Dialect.Clock, "NULL")+", (SELECT until FROM ing_rate_pause WHERE rate_key = ?)", key).Scan(&clock, &until)
	if err != nil {
		return 0, now, kernel.Wrap("read pause", s.db.Translate(err))
	}
	now, ok := s.db.OwnClock()
	if !ok {
		now = kernel.Instant(clock)
	}
	if until.Valid {
		pause = max(kernel.Instant(until).Sub(now), 0)
	}
	return pause, now, nil
}

// ReportRates keeps what the gate of a process says of its keys, so that a command
// in another process can show it. It is what was last seen, nothing is decided
// by it.
func (s *Ledger) ReportRates(ctx context.Context, process string, all []gate.Snapshot) error {
	return s.step(ctx, "report rates", kernel.Urgent, func(t *tx) error {
		var one int
		if known, err := kernel.Found(t.Row("SELECT 1 FROM ing_executor WHERE executor_id = ?", process).Scan(&one)); !known || err != nil {
			return err // it has said farewell meanwhile
		}
		for _, one := range all {
			text, err := json.Marshal(one)
			if err != nil {
				return err
			}
			n, err := t.Affected("UPDATE ing_rate_report SET snapshot = ?, reported_at = ? WHERE executor_id = ? AND rate_key = ?", string(text), kernel.Micros(t.Now), process, one.Key)
			if err != nil {
				return err
			}
			if n > 0 {
				continue
			}
			if _, err := t.Exec("INSERT INTO ing_rate_report (executor_id, rate_key, snapshot, reported_at) VALUES (?,?,?,?)", process, one.Key, string(text), kernel.Micros(t.Now)); err != nil {
				return err
			}
		}
		return nil
	})
}
