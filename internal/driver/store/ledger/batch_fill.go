package ledger

import (
	"fmt"
	"maps"
	"slices"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/driver/store/bodies"
)

// taking is what the stored record takes of an item.
type taking int

const (
	whole   taking = iota
	filled         // the fields that were empty; the item had a value for at least one
	nothing        // it may only fill, and has nothing to fill with
	mapping        // that it was mapped anew, with the same result
)

// fillItems merges the items that may only fill empty fields with what is stored
// (§11.1). Bodies are never rewritten and their heads are locked, so what is read
// holds until the commit. Others come back untouched, and cost nothing.
func (t *tx) fillItems(items []preparedRecord, stored map[record.Key]*record.Head) ([]preparedRecord, error) {
	at := bodiesToFill(items, stored)
	if len(at) == 0 {
		return items, nil
	}
	items = slices.Clone(items) // the step may be redone, on other heads
	return items, t.fieldsOf(items, at, func(i int, fields []byte) error { return items[i].fillFrom(fields) })
}

// fieldsOf reads the fields of bodies, each for the item it belongs to. A damaged
// one is an error: what is made of it would be stored as good.
func (t *tx) fieldsOf(items []preparedRecord, at map[int64]int, use func(i int, fields []byte) error) error {
	read := 0
	var unsealed bodies.Unsealed
	err := bodies.FindMany(t.Query, slices.Collect(maps.Keys(at)), bodies.FieldsPart, func(b bodies.Stored) error {
		i := at[b.ID]
		sealed, err := b.CheckFields(items[i].key)
		if err != nil {
			return fmt.Errorf("record %q: %w", items[i].ProviderID, err)
		}
		if !sealed {
			unsealed.Add(items[i].ProviderID, b.ID)
		}
		read++
		return use(i, b.Fields)
	})
	if err != nil {
		return err
	}
	if read != len(at) {
		return fmt.Errorf("%w: %d of %d stored bodies are missing; %s", fault.ErrDamaged, len(at)-read, len(at), bodies.DamageNext)
	}
	return unsealed.Check(t.Ctx, t.store.bodies)
}

// keysPer is how many keys one padded list has.
const keysPer = 200

// bodiesToFill finds the bodies to fill, and which item is to fill each.
func bodiesToFill(items []preparedRecord, stored map[record.Key]*record.Head) map[int64]int {
	var at map[int64]int
	for i := range items {
		if !items[i].FillOnly {
			continue
		}
		head := stored[items[i].key]
		if !record.Fills(head, items[i].Incoming) || head.ProviderID != items[i].ProviderID {
			continue // decide tells of two ids with one key
		}
		if at == nil {
			at = map[int64]int{}
		}
		at[head.BodyID] = i
	}
	return at
}

func (r *preparedRecord) fillFrom(stored []byte) error {
	merged, changed, err := record.Fill(stored, r.Fields)
	if err != nil {
		return fmt.Errorf("fill record %q: %w", r.ProviderID, err)
	}
	r.takes = nothing
	if changed {
		r.takes, r.merged = filled, merged
	}
	return nil
}
