package maintenance

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/view"
)

// sizeDuty is the mark that a measurement leaves.
const sizeDuty = "size"

// Measuring is what telling sizes needs of the store.
type Measuring interface {
	MeasureSize(ctx context.Context, whole bool) (view.Footprint, error)
	NoteSize(ctx context.Context, f view.Footprint) error
}

// Measure tells how much room the database takes, and notes it for answers that must not
// measure: status and forecasts.
func (s *Service) Measure(ctx context.Context, whole bool) (f view.Footprint, err error) {
	if f, err = s.store.MeasureSize(ctx, whole); err != nil {
		return f, err
	}
	return f, s.store.NoteSize(ctx, f)
}
