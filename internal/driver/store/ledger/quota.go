package ledger

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// ClaimQuota sets how much of each quota a holder has taken of the window that is
// open by the store's clock, and tells how much it may use: what was claimed, or
// what the others have left. It is counted before anything is sent, so who dies
// with it loses permits and never sends one too many (D§5.23, I11). Claims speak
// of totals: repeated, they change nothing (I8).
func (s *Ledger) ClaimQuota(ctx context.Context, key, holder string, claims []gate.Claim) (h gate.Holding, err error) {
	if onlyLooks(claims) {
		return s.lookQuota(ctx, key, claims)
	}
	err = s.step(ctx, "claim quota", kernel.Urgent, func(t *tx) error {
		h = gate.Holding{}
		for _, c := range claims {
			b, err := t.claimQuota(key, holder, c)
			if err != nil {
				return err
			}
			h.Blocks = append(h.Blocks, b)
		}
		h.Cool, err = coolingLeft(t.Row(coolingSQL, key), t.Now)
		return err
	})
	return h, err
}

// onlyLooks reports that nothing is claimed, now or before. Who names a window and
// claims nothing of it gives back a block of which nothing was used.
func onlyLooks(claims []gate.Claim) bool {
	for _, c := range claims {
		if c.Used != 0 || c.More != 0 || !c.Start.IsZero() {
			return false
		}
	}
	return true
}

// quotaRow is one quota in the window that is open now.
type quotaRow struct {
	start, end time.Time
	taken      float64 // by all
	mine       float64
	known      bool // there is a row
	rolled     bool // it is of an earlier window
}

const quotaSQL = "SELECT window_start, window_end, taken FROM ing_quota WHERE rate_key = ? AND quota_name = ?"

// openWindow reads a quota. A row of an earlier window counts as empty. A clock
// that went back stays in the window that was begun.
func openWindow(row kernel.Scanner, c gate.Claim, now time.Time) (q quotaRow, err error) {
	var start, end int64
	if q.known, err = kernel.Found(row.Scan(&start, &end, &q.taken)); err != nil {
		return q, err
	}
	q.start = now.UTC().Truncate(c.Length)
	q.end = q.start.Add(c.Length)
	if was := time.UnixMicro(start).UTC(); q.known && !was.Before(q.start) {
		q.start, q.end = was, time.UnixMicro(end).UTC()
		return q, nil
	}
	q.taken, q.rolled = 0, q.known
	return q, nil
}

func (t *tx) claimQuota(key, holder string, c gate.Claim) (gate.Block, error) {
	q, err := openWindow(t.Row(quotaSQL+t.Dialect().ForUpdate, key, c.Quota), c, t.Now)
	if err != nil {
		return gate.Block{}, err
	}
	if q.known && !q.rolled {
		if _, err := kernel.Found(t.Row("SELECT taken FROM ing_quota_holder WHERE rate_key = ? AND quota_name = ? AND holder = ?", key, c.Quota, holder).
			Scan(&q.mine)); err != nil {
			return gate.Block{}, err
		}
	}
	wanted, others := c.Total(q.start), max(q.taken-q.mine, 0)
	// What was used stays counted, whatever the limits have become since.
	mine := max(min(wanted, c.Usable-others), min(wanted, q.mine), 0)
	b := gate.Block{Quota: c.Quota, Start: q.start, Left: q.end.Sub(t.Now), Mine: mine, All: others + mine, Full: mine < wanted}
	if mine == q.mine {
		return b, nil
	}
	return b, t.saveQuota(key, holder, c.Quota, q, mine, others+mine)
}

func (t *tx) saveQuota(key, holder, name string, q quotaRow, mine, all float64) error {
	now := kernel.Micros(t.Now)
	if !q.known { // who comes second finds the row when the step is redone
		if _, err := t.Exec("INSERT INTO ing_quota (rate_key, quota_name, window_start, window_end, taken, updated_at) VALUES (?,?,?,?,?,?)",
			key, name, kernel.Micros(q.start), kernel.Micros(q.end), all, now); err != nil {
			return err
		}
	} else if err := t.ExecOne("UPDATE ing_quota SET window_start = ?, window_end = ?, taken = ?, updated_at = ? WHERE rate_key = ? AND quota_name = ?",
		kernel.Micros(q.start), kernel.Micros(q.end), all, now, key, name); err != nil {
		return err
	}
	if q.rolled {
		if _, err := t.Exec("DELETE FROM ing_quota_holder WHERE rate_key = ? AND quota_name = ?", key, name); err != nil {
			return err
		}
	}
	n, err := t.Affected("UPDATE ing_quota_holder SET taken = ? WHERE rate_key = ? AND quota_name = ? AND holder = ?", mine, key, name, holder)
	if err != nil || n > 0 {
		return err
	}
	_, err = t.Exec("INSERT INTO ing_quota_holder (rate_key, quota_name, holder, taken) VALUES (?,?,?,?)", key, name, holder, mine)
	return err
}

// lookQuota is a claim of nothing: it writes nothing, so that a command that only
// reads can use it.
func (s *Ledger) lookQuota(ctx context.Context, key string, claims []gate.Claim) (h gate.Holding, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return h, err
	}
	for _, c := range claims {
		q, err := openWindow(s.db.QueryRow(ctx, quotaSQL, key, c.Quota), c, now)
		if err != nil {
			return h, kernel.Wrap("look at quota", s.db.Translate(err))
		}
		h.Blocks = append(h.Blocks, gate.Block{Quota: c.Quota, Start: q.start, Left: q.end.Sub(now), All: q.taken})
	}
	h.Cool, err = coolingLeft(s.db.QueryRow(ctx, coolingSQL, key), now)
	return h, kernel.Wrap("look at quota", s.db.Translate(err))
}

const coolingSQL = "SELECT until FROM ing_rate_pause WHERE rate_key = ?"

func coolingLeft(row kernel.Scanner, now time.Time) (time.Duration, error) {
	var until int64
	known, err := kernel.Found(row.Scan(&until))
	if !known || err != nil {
		return 0, err
	}
	return max(time.UnixMicro(until).Sub(now), 0), nil
}

// NoteCooling keeps that an upstream asked for a pause. A shorter one does not
// end it.
func (s *Ledger) NoteCooling(ctx context.Context, key string, wait time.Duration) error {
	return s.step(ctx, "note cooling", kernel.Urgent, func(t *tx) error { return t.coolKey(key, t.Now.Add(wait)) })
}
