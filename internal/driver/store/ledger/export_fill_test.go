package ledger

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
)

// FillTwice makes one page ready, and fills with it as a commit does that is
// redone because the head changed: it gives what the page takes at each try.
func (s *Ledger) FillTwice(ctx context.Context, in record.Incoming, fields string, first, second record.Head) (tries [2]string, err error) {
	key := record.KeyOf(in.ProviderID)
	ready := []preparedRecord{{Incoming: in, key: key}}
	err = s.once(ctx, kernel.Bulk, (*tx).ReadClock, func(t *tx) error {
		if _, err := t.Exec("INSERT INTO ing_record_body (body_id, dataset_id, id_hash, version, fetch_at, fields, codec) VALUES (?,1,?,1,1,?,'plain')",
			first.BodyID, key[:], fields); err != nil {
			return err
		}
		for i, head := range []record.Head{first, second} {
			items, err := t.fillItems(ready, map[record.Key]*record.Head{key: &head})
			if err != nil {
				return err
			}
			tries[i] = map[taking]string{whole: "whole", filled: "filled", nothing: "nothing"}[items[0].takes]
		}
		return nil
	})
	return tries, err
}
