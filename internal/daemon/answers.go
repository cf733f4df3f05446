package daemon

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/blob"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// answers are kept answers, wherever they are: lean ones in the database, which has their
// items, and whole ones in files.
type answers struct {
	lean  *store.Store
	files *blob.Store // nil: no folder is known, or none are kept
}

// Put keeps a whole answer. There must be a folder.
func (a *answers) Put(ctx context.Context, body []byte, sum string, packed []ingest.PackedPart) (ref string, stored int64, err error) {
	return a.files.Put(ctx, body, sum, packed)
}

// Get reads an answer. fault.ErrNotFound means that it is not kept any more. One whose items are
// damaged in the database may still be there whole.
func (a *answers) Get(ctx context.Context, ref string) ([]byte, error) {
	body, err := a.lean.LeanAnswer(ctx, ref)
	if !errors.Is(err, fault.ErrNotFound) && !errors.Is(err, fault.ErrDamaged) {
		return body, err
	}
	if a.files == nil {
		if errors.Is(err, fault.ErrDamaged) {
			return nil, err
		}
		return nil, errNoRawDir
	}
	body, missing := a.files.Get(ctx, ref)
	if errors.Is(missing, fault.ErrNotFound) {
		return nil, err
	}
	return body, missing
}

// measure tells how much room an answer takes; lean says that its items are not counted.
func (a *answers) measure(ctx context.Context, ref string) (bytes int64, lean bool, err error) {
	if bytes, err = a.lean.LeanAnswerBytes(ctx, ref); !errors.Is(err, fault.ErrNotFound) {
		return bytes, true, err
	}
	if a.files == nil {
		return 0, false, errNoRawDir
	}
	bytes, err = a.files.Stored(ctx, ref)
	return bytes, false, err
}
