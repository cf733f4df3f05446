package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/refresh"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// signalsAtOnce is how many signals one transaction of the store takes.
const signalsAtOnce = 500

// Signal names records that the next update has to check. It needs a reason: a
// retraction that cannot be traced is worth nothing. A source that cannot be asked
// for ids is refused: no update would follow the signals.
func (o *Operator) Signal(ctx context.Context, of spec.Snapshot, kind refresh.Kind, ids []string, by ingest.Act) (done ingest.SignalsAdded, err error) {
	if by, err = checkSigned(by, true); err != nil {
		return done, err
	}
	if len(ids) == 0 {
		return done, fmt.Errorf("%w: no id is named", fault.ErrInvalid)
	}
	if err := of.CheckByID(); err != nil {
		return done, err
	}
	for chunk := range slices.Chunk(ids, signalsAtOnce) {
		named := make([]ingest.NewSignal, len(chunk))
		for i, id := range chunk {
			if named[i].ID = id; of.Reading().IDCase == "LOWER" { // as the ids of records are written
				named[i].ID = strings.ToLower(id)
			}
		}
		part, err := o.store.AddSignals(ctx, of.Dataset(), kind, named, by)
		if err != nil {
			return done, err
		}
		done = done.Add(part)
	}
	return done, nil
}

// SignalQuarantined names every record with a quarantined item and whose
// id is known.
func (o *Operator) SignalQuarantined(ctx context.Context, of spec.Snapshot, by ingest.Act) (done ingest.SignalsAdded, err error) {
	if by, err = checkSigned(by, true); err != nil {
		return done, err
	}
	if err := of.CheckByID(); err != nil {
		return done, err
	}
	d := of.Dataset()
	for after := int64(0); ; {
		named, err := o.store.QuarantinedIDs(ctx, d, after, signalsAtOnce)
		if err != nil || len(named) == 0 {
			return done, err
		}
		part, err := o.store.AddSignals(ctx, d, refresh.Quarantined, named, by)
		if err != nil {
			return done, err
		}
		done, after = done.Add(part), named[len(named)-1].QuarantineID
	}
}
