package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
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

// Get reads an answer. fault.ErrNotFound means that it is not kept any more, or that nobody knows
// the folder it is in. One whose items are damaged in the database may still be there whole.
func (a *answers) Get(ctx context.Context, ref string) ([]byte, error) {
	body, err := a.lean.LeanAnswer(ctx, ref)
	if !mayBeWhole(err) {
		return body, err
	}
	if a.files == nil {
		return nil, withoutFolder(err)
	}
	body, missing := a.files.Get(ctx, ref)
	return body, tellBest(err, missing)
}

// measure tells how much room an answer takes; lean says that its items are not counted.
func (a *answers) measure(ctx context.Context, ref string) (bytes int64, lean bool, err error) {
	if bytes, err = a.lean.LeanAnswerBytes(ctx, ref); !mayBeWhole(err) {
		return bytes, err == nil, err
	}
	if a.files == nil {
		return 0, false, withoutFolder(err)
	}
	bytes, missing := a.files.Stored(ctx, ref)
	return bytes, false, tellBest(err, missing)
}

func mayBeWhole(err error) bool {
	return errors.Is(err, fault.ErrNotFound) || errors.Is(err, fault.ErrDamaged)
}

// saysMore reports that what became of a lean answer says more than that there is no file.
func saysMore(err error) bool {
	return errors.Is(err, fault.ErrDamaged) || errors.Is(err, view.ErrItemsRemoved)
}

func withoutFolder(err error) error {
	if saysMore(err) {
		return err
	}
	return errNoRawDir
}

func tellBest(lean, file error) error {
	if errors.Is(file, fault.ErrNotFound) && saysMore(lean) {
		return lean
	}
	return file
}

// leanLook is how often a process looks for lean answers that have become too old. It is one
// question where there are none.
const leanLook = time.Hour

// removeOldAnswers removes lean answers that are older than their time, also where this process
// knows no folder of whole ones. A removal that fails is tried again; work goes on.
func (a *App) removeOldAnswers(ctx context.Context) {
	if last := a.leanSwept.Load(); last != nil && time.Since(*last) < leanLook {
		return
	}
	n, err := a.store.RemoveLeanAnswers(ctx, a.config.Raw.KeepFor)
	if err != nil {
		if ctx.Err() == nil {
			a.config.Log.Warn("answers without items were not swept", "error", err)
		}
		return
	}
	now := time.Now()
	a.leanSwept.Store(&now)
	if n > 0 {
		a.config.Log.Info("answers without items swept", "answers", n)
	}
}
