package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
)

const gotten = 500 // records that are looked up

// benchGet measures what patra data get asks: the record, its newest version with its
// content, which lies in a frame with others, and where it comes from. The reference
// reads the row of the record by its key.
func benchGet(b *testing.B, k kind, out *table) {
	s := startShaped(b, 4, worksPerDay)
	db := k.fresh(b)
	_ = db.open(b, false).Close()
	app, err := daemon.Open(b.Context(), daemon.Config{Database: db.address, Raw: noBodies})
	if err != nil {
		b.Fatal(err)
	}
	defer app.Close()
	compiled := s.compile(b, fmt.Sprintf("paging.size=%d", pageSize))
	if _, err := app.Harvest(b.Context(), compiled, daemon.NewRequest(s.to().AddDate(0, 0, 1), s.from(), s.to()), daemon.Watch{}); err != nil {
		b.Fatal(err)
	}
	raw := db.bare(b, 1, "FULL")
	var ids []string
	rows, err := raw.Query("SELECT provider_id FROM ing_record")
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			b.Fatal(err)
		}
		ids = append(ids, id)
	}
	if rows.Err() != nil || len(ids) != s.works {
		b.Fatalf("%d records are stored, want %d: %v", len(ids), s.works, rows.Err())
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	d := view.Dataset{Source: "crossref", Endpoint: "works"}
	if err := raw.QueryRow("SELECT id FROM ing_dataset").Scan(&d.ID); err != nil {
		b.Fatal(err)
	}
	var ours, bare samples
	for _, id := range ids[:gotten] {
		ours.time(b, func() error {
			h, err := app.Inspect.History(b.Context(), d, id, view.Looking{Most: 20, Version: 1, Payload: true})
			if err == nil && (len(h.Versions) != 1 || len(h.Versions[0].Payload) == 0) {
				err = fmt.Errorf("%d versions of %s", len(h.Versions), id)
			}
			return err
		})
		bare.time(b, func() error {
			var version int
			key := record.KeyOf(id)
			return raw.QueryRow("SELECT version FROM ing_record WHERE dataset_id = ? AND id_hash = ?", d.ID, key[:]).Scan(&version)
		})
	}
	out.add(b, line{
		what: fmt.Sprintf("data get of one record of %d, %s (mean / p95)", s.works, k.name), ours: ours.String(), reference: bare.String(), ratio: ours.middle(bare),
		reads: "our time / reading the row of the record; medians (aim 3 ms at the 95th percentile)",
	})
}
