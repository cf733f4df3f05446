package trigger

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// leaseName is the lease of whoever plans by schedule.
const leaseName = "planner"

// beats per lease: two may be lost before another takes over.
const beats = 3

func (s *Service) renewalLength() time.Duration { return s.config.Lease / beats }

// holdLease keeps the lease, or takes it if it is free.
func (s *Service) holdLease(ctx context.Context) (bool, error) {
	if s.epoch != 0 && time.Since(s.renewed) < s.renewalLength()/2 {
		return true, nil
	}
	asked := time.Now()
	if s.epoch != 0 {
		err := s.leases.RenewLease(ctx, leaseName, s.config.Owner, s.epoch, s.config.Lease)
		if err == nil {
			s.renewed = asked
		}
		if !errors.Is(err, fault.ErrStale) {
			return err == nil, err
		}
		s.epoch = 0
		s.log.Warn("another process took the planner lease: this one was silent for too long")
	}
	epoch, held, err := s.leases.AcquireLease(ctx, leaseName, s.config.Owner, s.config.Lease)
	switch {
	case err != nil:
		return false, err
	case held:
		s.epoch, s.standby, s.renewed = epoch, false, asked
		s.log.Info("planning by schedule", "epoch", epoch)
	case !s.standby:
		s.standby = true
		s.log.Info("another process plans by schedule; standing by")
	}
	return held, nil
}

var errLeaseLost = errors.New("the planner lease was lost")

// whileHeld keeps the lease alive while something is done: planning may ask an
// upstream for sizes, at the rate that one allows. Should the lease be lost, what
// is done is stopped; another process does it (I8).
func (s *Service) whileHeld(ctx context.Context, do func(context.Context)) {
	working, stop := context.WithCancelCause(ctx)
	renewed, lost := s.renewed, false
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(s.renewalLength())
		defer ticker.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-ticker.C:
			}
			asked := time.Now()
			err := s.leases.RenewLease(working, leaseName, s.config.Owner, s.epoch, s.config.Lease)
			switch {
			case err == nil:
				renewed = asked
			case errors.Is(err, fault.ErrStale):
				lost = true
				stop(errLeaseLost)
				return
			}
		}
	}()
	do(working)
	stop(nil)
	<-done
	if s.renewed = renewed; lost {
		s.epoch = 0
		s.log.Warn("another process took the planner lease: this one was silent for too long")
	}
}

func (s *Service) releaseLease(ctx context.Context) {
	if s.epoch == 0 {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := s.leases.ReleaseLease(last, leaseName, s.config.Owner, s.epoch); err != nil {
		s.log.Warn("the planner lease was not given back; it expires automatically", "error", err)
	}
	s.epoch = 0
}
