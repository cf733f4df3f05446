package bench

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/record"
)

// What makes unchanged batches cheap must not cost a changed record among them.
func TestChangesAmongUnchangedRecordsAreStored(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			c := newCommitter(t, k.fresh(t).open(t, false))
			batch := slices.Clone(c.records)
			for range 2 {
				if err := c.commit(t.Context(), batch); err != nil {
					t.Fatal(err)
				}
			}
			batch[3].ProviderID = "10.5555/new"
			batch[7].Payload = bytes.ToUpper(batch[7].Payload)
			batch[7].ContentHash = record.DigestOf(batch[7].Payload)
			batch[7].UpdatedAt = batch[7].UpdatedAt.Add(time.Second)
			if err := c.commit(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{c.records[3].ProviderID: string(c.records[3].Payload)}
			for _, r := range batch {
				want[r.ProviderID] = string(r.Payload)
			}
			got := map[string]string{}
			records, err := c.store.Records(t.Context(), "crossref", "works", nil, 2*batchSize)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range records {
				got[r.ID] = string(r.Payload)
			}
			if !maps.Equal(got, want) {
				t.Errorf("%d records came back, want %d, or a payload differs", len(got), len(want))
			}
		})
	}
}
