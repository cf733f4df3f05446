package maintenance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// leaseName is the lease of whoever looks after the database.
const leaseName = "maintenance"

// ErrBusy means that another process is at it.
var ErrBusy = fmt.Errorf("%w: another process looks after this database just now: wait until it has done", fault.ErrConflict)

var errLeaseLost = errors.New("the maintenance lease was lost: another process goes on")

const (
	beats     = 3 // per lease: two may be lost before another takes over
	lastWords = 5 * time.Second
)

// holdAlone does something while no other process does. Steps bear it if two do: the
// lease only spares work. Should it be lost, what is done is stopped.
func (s *Service) holdAlone(ctx context.Context, do func(ctx context.Context, epoch int64) error) error {
	epoch, held, err := s.store.AcquireLease(ctx, leaseName, s.config.Owner, s.config.Lease)
	if err != nil {
		return err
	}
	if !held {
		return ErrBusy
	}
	working, stop := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.keepLease(working, epoch, stop)
	}()
	err = do(working, epoch)
	if lost := context.Cause(working); lost != nil && ctx.Err() == nil {
		err = lost
	}
	stop(nil)
	<-done
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if e := s.store.ReleaseLease(last, leaseName, s.config.Owner, epoch); e != nil {
		s.log.Warn("the maintenance lease was not given back; it expires automatically", "error", e)
	}
	return err
}

func (s *Service) keepLease(ctx context.Context, epoch int64, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(s.config.Lease / beats)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := s.store.RenewLease(ctx, leaseName, s.config.Owner, epoch, s.config.Lease); errors.Is(err, fault.ErrStale) {
			stop(errLeaseLost)
			return
		}
	}
}
