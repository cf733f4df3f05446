package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/view"
)

// AddSignals names records to look at again, at most 500 at a time, with an entry
// in the audit log. A record that has an open signal of the kind gets no second
// one, so repeating a call changes nothing (I8).
func (s *Store) AddSignals(ctx context.Context, d ingest.Dataset, kind refresh.Kind, named []ingest.NewSignal, by ingest.Act) (done ingest.SignalsAdded, err error) {
	if len(named) > operateAtOnce {
		return done, fmt.Errorf("add signals: %w: %d at a time, at most %d", fault.ErrInvalid, len(named), operateAtOnce)
	}
	for _, n := range named {
		if n.ID == "" || len(n.ID) > record.MaxIDBytes {
			return done, fmt.Errorf("add signals: %w: id of %d bytes, need 1 to %d", fault.ErrInvalid, len(n.ID), record.MaxIDBytes)
		}
	}
	err = s.step(ctx, "add signals", bulk, func(t *tx) error {
		done = ingest.SignalsAdded{}
		dataset, err := t.dataset(d)
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
			return errRehearsed
		case done.Added == 0:
			return nil
		}
		return t.audit(auditEntry{at: t.now, actor: by.Actor, action: "signal.add", object: d.Source + "/" + d.Endpoint, reason: by.Reason,
			detail: map[string]any{"kind": string(kind), "added": done.Added, "from": done.From, "to": done.To}})
	})
	return done, performed(err)
}

func (t *tx) addSignal(dataset int64, d ingest.Dataset, kind refresh.Kind, n ingest.NewSignal, by ingest.Act) (done ingest.SignalsAdded, err error) {
	key := record.KeyOf(n.ID)
	var id int64
	known, err := found(t.row("SELECT id FROM ing_signal WHERE dataset_id = ? AND id_hash = ? AND kind_code = ? AND closed_at = 0", dataset, key[:], string(kind)).Scan(&id))
	if err != nil {
		return done, err
	}
	if known { // whoever names it anew does not wait
		_, err := t.exec("UPDATE ing_signal SET not_before = 0 WHERE id = ?", id)
		return ingest.SignalsAdded{Known: 1, From: id, To: id + 1}, err
	}
	id, err = t.insert(`INSERT INTO ing_signal (dataset_id, provenance_code, endpoint_name, id_hash, provider_id, kind_code, status_code, quarantine_id, actor, reason,
  created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?)`, dataset, d.Source, d.Endpoint, key[:], n.ID, string(kind), string(refresh.Open), idOrNull(n.QuarantineID),
		cut(by.Actor, 128), orNull(cut(by.Reason, 512)), micros(t.now))
	return ingest.SignalsAdded{Added: 1, From: id, To: id + 1}, err
}

// countSignals is the open signals of a dataset and between which numbers they
// lie. What is open is what is owed: a number that was taken by a transaction which
// committed late is found like any other. Those that wait until a second miss counts
// are not owed yet.
func (s *Store) countSignals(ctx context.Context, dataset int64) (out ingest.Candidates, err error) {
	now, err := s.Now(ctx)
	if err != nil {
		return out, err
	}
	err = s.queryRow(ctx, `SELECT COUNT(*), COALESCE(MIN(id), 0), COALESCE(MAX(id) + 1, 0) FROM ing_signal
  WHERE dataset_id = ? AND status_code = 'OPEN' AND not_before <= ?`, dataset, micros(now)).
		Scan(&out.Count, &out.From, &out.To)
	out.Exact = true
	return out, err
}

// QuarantinedIDs are rejected items of a dataset whose id is known, oldest first,
// after a reject.
func (s *Store) QuarantinedIDs(ctx context.Context, d ingest.Dataset, after int64, limit int) (out []ingest.NewSignal, err error) {
	dataset, known, err := s.datasetID(ctx, d)
	if err != nil || !known {
		return nil, wrap("read quarantined ids", s.translate(err))
	}
	rows, err := s.query(ctx, `SELECT id, provider_id FROM ing_quarantine WHERE dataset_id = ? AND status_code = 'OPEN' AND provider_id IS NOT NULL
  AND id > ? ORDER BY id LIMIT ?`, dataset, after, limit)
	if err != nil {
		return nil, wrap("read quarantined ids", s.translate(err))
	}
	return out, wrap("read quarantined ids", each(rows, func() error {
		var n ingest.NewSignal
		err := rows.Scan(&n.QuarantineID, &n.ID)
		out = append(out, n)
		return err
	}))
}

// Signals lists signals, newest first; f.Status is one of theirs.
func (s *Store) Signals(ctx context.Context, f view.Filter) (out []view.Signal, err error) {
	w := &where{}
	w.add(f.Source != "", "dataset_id IN (SELECT id FROM ing_dataset WHERE provenance_code = ?)", f.Source)
	w.add(f.Status != "", "status_code = ?", f.Status)
	w.add(f.Before != 0, "id < ?", f.Before)
	rows, err := s.query(ctx, `SELECT id, provenance_code, endpoint_name, provider_id, kind_code, status_code, actor, COALESCE(reason, ''), created_at, closed_at,
  COALESCE(batch_id, 0), not_before FROM ing_signal`+w.String()+" ORDER BY id DESC LIMIT ?", append(w.args, max(f.Limit, 1))...)
	if err != nil {
		return nil, wrap("list signals", s.translate(err))
	}
	return out, wrap("list signals", each(rows, func() error {
		var v view.Signal
		var created, closed, notBefore sql.NullInt64
		err := rows.Scan(&v.ID, &v.Source, &v.Endpoint, &v.ProviderID, &v.Kind, &v.Status, &v.Actor, &v.Reason, &created, &closed, &v.BatchID, &notBefore)
		if notBefore.Int64 != 0 {
			v.NotBefore = instant(notBefore)
		}
		if v.CreatedAt = instant(created); closed.Int64 != 0 {
			v.ClosedAt = instant(closed)
		}
		out = append(out, v)
		return err
	}))
}
