package daemon

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// Part is one part of a list, by the name that a person gave.
type Part struct {
	Name   string
	Closed time.Time // when its record was found to be gone; zero: it is there, or the parts are no records
	Unread bool      // its record is new, and nobody has read what belongs to it
}

// LookAtPart tells how the record stands that a part of a list is. Without one of that id nothing can be said of it: who misspelt the id
// must not be told that it was read.
func (a *App) LookAtPart(ctx context.Context, c *spec.Compiled, found sector.Sector) (Part, error) {
	part := Part{Name: found.Name}
	entry, from := sector.Parent(c.Snapshot.Partitions)
	if from == nil {
		return part, nil
	}
	meant, err := sector.ParseParent(found.Values[entry])
	if err != nil || meant.Run != nil {
		return part, nil
	}
	dataset := c.Snapshot.Parent.Dataset()
	there, _, _, err := a.store.Parents(ctx, ingest.ParentLook{Dataset: dataset, Only: &meant.Key, Limit: 1})
	if err != nil {
		return part, err
	}
	if len(there) == 0 {
		part.Closed, err = a.closedAt(ctx, dataset, meant.Key)
		return part, err
	}
	if c.Snapshot.ReadsWhole() {
		return part, nil
	}
	own, err := c.Namespace()
	if err != nil {
		return part, err
	}
	known, err := a.store.ParentsKnown(ctx, own)
	part.Unread = there[0].Opened.After(known.AsOf) || slices.Contains(known.Still, found.Name)
	return part, err
}

// closedAt returns when a record was found to be gone, and refuses one that was never stored.
func (a *App) closedAt(ctx context.Context, of ingest.Dataset, key record.Key) (time.Time, error) {
	before := new(big.Int).Sub(new(big.Int).SetBytes(key[:]), big.NewInt(1))
	after := make([]byte, len(key))
	if before.Sign() >= 0 {
		before.FillBytes(after)
	}
	records, err := a.store.Records(ctx, of.Source, of.Endpoint, after, 1)
	if err != nil {
		return time.Time{}, err
	}
	if len(records) == 0 || !bytes.Equal(records[0].Key, key[:]) {
		return time.Time{}, fmt.Errorf("%w: %s/%s has no stored record with that id, and only its records can be named as partitions here: `patra data list %s/%s` lists them", fault.ErrInvalid, of.Source, of.Endpoint, of.Source, of.Endpoint)
	}
	return records[0].FetchAt, nil
}
