package executor

import (
	"context"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// walk is a way through a part of a slice. There are three: the pages of a list, the
// details of found ids, the candidates of an update.
type walk interface {
	// next makes one request, or one look at what is stored, and commits what it brought.
	// done says that the slice is read to its end. Without an error the run goes on.
	next(ctx context.Context) (done bool, err error)
}

// firstWalk is the walk that a slice begins with: it finds items or ids until none are
// left. It also knows how a slice that cannot be read to its end is ended.
type firstWalk interface {
	walk
	// requestElsewhere returns a request for something else than what failed, to learn whether
	// the upstream answers at all. The error says that there is nothing else to ask for.
	requestElsewhere() (*exchange.Request, error)
	// startsOver notes that the walk broke, and reports whether it may begin again.
	startsOver(f *fault.Error) bool
	// explainEnd finds out more about the error that ends the run.
	explainEnd(ctx context.Context, cause error) error
	// endsEarly returns what becomes of the task if a fault ends the slice before its end
	// and the rest is not lost; ok is false for every other fault.
	endsEarly(code fault.Code) (task ingest.TaskStatus, run ingest.RunStatus, ok bool)
}

// nextWalk returns the walk whose turn it is. Found ids are asked for before the search
// goes on, so that few of them wait at any time (I14).
func (r *taskRun) nextWalk() walk {
	if len(r.ids.Pending) > 0 {
		return r.detail
	}
	return r.first
}
