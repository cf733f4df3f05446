package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// AddSignals names records to look at again, at most 500 at a time, with an entry
// in the audit log. A record that has an open signal of the kind gets no second
// one, so repeating a call changes nothing (I8).
func (s *Ledger) AddSignals(ctx context.Context, d ingest.Dataset, kind refresh.Kind, named []ingest.NewSignal, by ingest.Act) (done ingest.SignalsAdded, err error) {
	if len(named) > kernel.OperateAtOnce {
		return done, fmt.Errorf("add signals: %w: %d at a time, at most %d", fault.ErrInvalid, len(named), kernel.OperateAtOnce)
	}
	for _, n := range named {
		if n.ID == "" || len(n.ID) > record.MaxIDBytes {
			return done, fmt.Errorf("add signals: %w: id of %d bytes, need 1 to %d", fault.ErrInvalid, len(n.ID), record.MaxIDBytes)
		}
	}
	err = s.step(ctx, "add signals", kernel.Bulk, func(t *tx) error {
		done = ingest.SignalsAdded{}
		dataset, err := t.findDataset(d)
		if err != nil {
			return err
		}
		for _, n := range named {
			one, err := t.addSignal(dataset, d, kind, n, by)
			if err != nil {
				return err
			}
			done = done.Add(one)
		}
		switch {
		case by.Rehearsal:
			return kernel.ErrRehearsed
		case done.Added == 0:
			return nil
		}
		return t.Audit(kernel.AuditEntry{At: t.Now, Actor: by.Actor, Action: "signal.add", Object: d.Source + "/" + d.Endpoint, Reason: by.Reason,
			Detail: map[string]any{"kind": string(kind), "added": done.Added, "from": done.From, "to": done.To}})
	})
	return done, kernel.Performed(err)
}

func (t *tx) addSignal(dataset int64, d ingest.Dataset, kind refresh.Kind, n ingest.NewSignal, by ingest.Act) (done ingest.SignalsAdded, err error) {
	key := record.KeyOf(n.ID)
	var id int64
	known, err := kernel.Found(t.Row("SELECT id FROM ing_signal WHERE dataset_id = ? AND id_hash = ? AND kind_code = ? AND closed_at = 0", dataset, key[:], string(kind)).Scan(&id))
	if err != nil {
		return done, err
	}
	if known { // whoever names it anew does not wait
		_, err := t.Exec("UPDATE ing_signal SET not_before = 0 WHERE id = ?", id)
		return ingest.SignalsAdded{Known: 1, From: id, To: id + 1}, err
	}
	id, err = t.Insert(`INSERT INTO ing_signal (dataset_id, provenance_code, endpoint_name, id_hash, provider_id, kind_code, status_code, quarantine_id, actor, reason,
  created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?)`, dataset, d.Source, d.Endpoint, key[:], n.ID, string(kind), string(refresh.Open), kernel.IDOrNull(n.QuarantineID),
		kernel.Cut(by.Actor, 128), kernel.OrNull(kernel.Cut(by.Reason, 512)), kernel.Micros(t.Now))
	return ingest.SignalsAdded{Added: 1, From: id, To: id + 1}, err
}

// countSignals returns the open signals of a dataset and between which numbers they
// lie. What is open is what is owed: a number that was taken by a transaction which
// committed late is found like any other. Those that wait until a second miss counts
// are not owed yet.
func (s *Ledger) countSignals(ctx context.Context, dataset int64) (out ingest.Candidates, err error) {
	now, err := s.db.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.db.QueryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(id), 0), COALESCE(MAX(id) + 1, 0) FROM ing_signal
  WHERE dataset_id = ? AND status_code = 'OPEN' AND not_before <= ?`, dataset, kernel.Micros(now)).
		Scan(&out.Count, &out.From, &out.To)
	out.Exact = true
	return out, err
}

// QuarantinedIDs returns rejected items of a dataset whose id is known, oldest
// first, after a reject.
func (s *Ledger) QuarantinedIDs(ctx context.Context, d ingest.Dataset, after int64, limit int) (out []ingest.NewSignal, err error) {
	dataset, known, err := s.datasetID(ctx, d)
	if err != nil || !known {
		return nil, kernel.Wrap("read quarantined ids", s.db.Translate(err))
	}
	rows, err := s.db.Query(ctx, `SELECT id, provider_id FROM ing_quarantine WHERE dataset_id = ? AND status_code = 'OPEN' AND provider_id IS NOT NULL
  AND id > ? ORDER BY id LIMIT ?`, dataset, after, limit)
	if err != nil {
		return nil, kernel.Wrap("read quarantined ids", s.db.Translate(err))
	}
	return out, kernel.Wrap("read quarantined ids", kernel.Each(rows, func() error {
		var n ingest.NewSignal
		err := rows.Scan(&n.QuarantineID, &n.ID)
		out = append(out, n)
		return err
	}))
}

// Signals lists signals, newest first; f.Status is one of theirs.
func (s *Ledger) Signals(ctx context.Context, f view.Filter) (out []view.Signal, err error) {
	w := &kernel.Where{}
	w.Add(f.Source != "", "dataset_id IN (SELECT id FROM ing_dataset WHERE provenance_code = ?)", f.Source)
	w.Add(f.Status != "", "status_code = ?", f.Status)
	w.Add(f.Before != 0, "id < ?", f.Before)
	rows, err := s.db.Query(ctx, `SELECT id, provenance_code, endpoint_name, provider_id, kind_code, status_code, actor, COALESCE(reason, ''), created_at, closed_at,
  COALESCE(batch_id, 0), not_before FROM ing_signal`+w.String()+" ORDER BY id DESC LIMIT ?", append(w.Args, max(f.Limit, 1))...)
	if err != nil {
		return nil, kernel.Wrap("list signals", s.db.Translate(err))
	}
	return out, kernel.Wrap("list signals", kernel.Each(rows, func() error {
		var v view.Signal
		var created, closed, notBefore sql.NullInt64
		err := rows.Scan(&v.ID, &v.Source, &v.Endpoint, &v.ProviderID, &v.Kind, &v.Status, &v.Actor, &v.Reason, &created, &closed, &v.BatchID, &notBefore)
		if notBefore.Int64 != 0 {
			v.NotBefore = kernel.Instant(notBefore)
		}
		if v.CreatedAt = kernel.Instant(created); closed.Int64 != 0 {
			v.ClosedAt = kernel.Instant(closed)
		}
		out = append(out, v)
		return err
	}))
}
