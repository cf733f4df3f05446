package ledger

import (
	"encoding/hex"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// LeaveOutItems returns what an answer has beside the items of its records, if all of them
// lie in it as they are stored: with these versions it is the answer, and nothing needs to
// be stored twice (decision 165). It returns nothing where the last batch had items that were
// stored before: the commit would be refused, and done again.
func (s *Ledger) LeaveOutItems(records []record.Incoming, answer []byte) []byte {
	if s.mixed.Load() {
		return nil
	}
	rest, ok := bodies.LeaveOutItems(answer, len(records), func(i int) ([]byte, int) { return records[i].Payload, records[i].Offset })
	if !ok {
		return nil
	}
	return rest
}

// checkLean refuses a lean answer unless each of its items becomes a version of this batch,
// in the order of the answer. What was written before is rolled back.
func checkLean(in ingest.BatchCommit, changes []change) error {
	if in.Rest == nil {
		return nil
	}
	stored := len(changes) == len(in.Records)
	for i := range changes {
		c := &changes[i]
		stored = stored && c.action.Publishes() && c.action != record.Remove && !c.Missed
	}
	if !stored {
		return ingest.ErrItemsStored
	}
	return nil
}

// insertLean notes what the answer of a batch has beside its items.
func (t *tx) insertLean(in ingest.BatchCommit, batchID int64) error {
	if in.Rest == nil {
		return nil
	}
	hash, err := hex.DecodeString(in.Raw)
	if err != nil {
		return fmt.Errorf("%w: %q is no hash of an answer", fault.ErrInvalid, in.Raw)
	}
	_, err = t.Exec("INSERT INTO ing_lean_answer (batch_id, answer_hash, byte_count, item_count, rest, created_at) VALUES (?,?,?,?,?,?)",
		batchID, hash, in.AnswerBytes, len(in.Records), in.Rest, kernel.Micros(t.Now))
	return err
}
