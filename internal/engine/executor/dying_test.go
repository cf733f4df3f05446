package executor

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/store"
)

var errDied = errors.New("the worker died")

// dyingStore is the store of a worker that dies before it can end its run.
type dyingStore struct{ *store.Store }

func (dyingStore) FinishRun(context.Context, ingest.Finish) error { return errDied }
