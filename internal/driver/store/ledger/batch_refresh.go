package ledger

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// noteRefreshed writes what an UPDATE learned besides the records: when they were
// looked at, the unchanged ones too, and which signals are answered by it.
func (t *tx) noteRefreshed(in ingest.BatchCommit, batchID int64) error {
	r := in.Refreshed
	if r == nil {
		return nil
	}
	for chunk := range slices.Chunk(keysOf(r.IDs), keysPer) {
		args := append([]any{in.ExprID, kernel.Micros(r.At), in.DatasetID}, padKeys(chunk)...)
		if _, err := t.Exec(refreshedUpdate, args...); err != nil {
			return err
		}
	}
	if err := t.judgeRejects(in, batchID); err != nil {
		return err
	}
	if r.At.IsZero() {
		return nil // nobody asked the upstream: a signal is not answered
	}
	if err := t.closeSignals(in, batchID, keysOf(r.IDs), r.At, refresh.Done); err != nil {
		return err
	}
	return t.closeSignals(in, batchID, keysOf(r.Failed), r.At, refresh.Failed)
}

var (
	keyMarks        = strings.TrimSuffix(strings.Repeat("?,", keysPer), ",")
	refreshedUpdate = "UPDATE ing_record SET expr_id = ?, refresh_checked_at = COALESCE(?, refresh_checked_at) WHERE dataset_id = ? AND id_hash IN (" + keyMarks + ")"
	signalsQuery    = "SELECT id, COALESCE(quarantine_id, 0) FROM ing_signal WHERE dataset_id = ? AND status_code = 'OPEN' AND created_at <= ? AND id_hash IN (" + keyMarks + ")"
)

// keysOf returns the keys of ids, sorted: one lock order for all workers.
func keysOf(ids []string) []record.Key {
	keys := make([]record.Key, len(ids))
	for i, id := range ids {
		keys[i] = record.KeyOf(id)
	}
	slices.SortFunc(keys, func(a, b record.Key) int { return bytes.Compare(a[:], b[:]) })
	return keys
}

// padKeys repeats the last key: one statement text for all sizes.
func padKeys(keys []record.Key) []any {
	out := make([]any, keysPer)
	for i := range out {
		out[i] = keys[min(i, len(keys)-1)][:]
	}
	return out
}

// closeSignals closes what was raised before the upstream was asked. A reject that
// a signal was about is resolved if its record could be read now.
func (t *tx) closeSignals(in ingest.BatchCommit, batchID int64, keys []record.Key, asked time.Time, status refresh.SignalStatus) error {
	var signals, rejects []int64
	for chunk := range slices.Chunk(keys, keysPer) {
		rows, err := t.Query(signalsQuery, append([]any{in.DatasetID, kernel.Micros(asked)}, padKeys(chunk)...)...)
		if err != nil {
			return err
		}
		err = kernel.Each(rows, func() error {
			var id, reject int64
			err := rows.Scan(&id, &reject)
			signals = append(signals, id)
			if reject != 0 {
				rejects = append(rejects, reject)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	slices.Sort(signals)
	if err := t.ExecIn("UPDATE ing_signal SET status_code = ?, closed_at = ?, batch_id = ? WHERE id IN ", signals, string(status), kernel.Micros(t.Now), batchID); err != nil {
		return err
	}
	if status != refresh.Done {
		return nil
	}
	slices.Sort(rejects)
	return t.resolveRejects(rejects, batchID, asked)
}

// remapItems finds the items that are stored and were mapped otherwise (record.Remaps),
// and of those the ones whose fields come out as they are: only their heads are
// written then, and nobody downstream hears of it.
func (t *tx) remapItems(items []preparedRecord, stored map[record.Key]*record.Head) ([]preparedRecord, error) {
	at := map[int64]int{}
	for i := range items {
		if head := stored[items[i].key]; record.Remaps(head, items[i].Incoming) && head.ProviderID == items[i].ProviderID {
			at[head.BodyID] = i
		}
	}
	if len(at) == 0 {
		return items, nil
	}
	items = slices.Clone(items) // the step may be redone, on other heads
	return items, t.fieldsOf(items, at, func(i int, fields []byte) error {
		if same, err := sameJSON(fields, items[i].Fields); err != nil || !same {
			return err
		}
		items[i].takes = mapping
		return nil
	})
}

// sameJSON compares by value: a database may write JSON in its own way.
func sameJSON(a, b []byte) (bool, error) {
	if bytes.Equal(a, b) {
		return true, nil
	}
	var forms [2]bytes.Buffer
	for i, text := range [][]byte{a, b} {
		if len(text) == 0 {
			continue
		}
		if err := json.Compact(&forms[i], text); err != nil {
			return false, err
		}
	}
	return bytes.Equal(forms[0].Bytes(), forms[1].Bytes()), nil
}
