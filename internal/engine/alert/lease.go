package alert

import (
	"context"
	"errors"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// LeaseName is the lease of the process that decides and sends.
const LeaseName = "alerts"

func (s *Service) lease() alert.Lease {
	return alert.Lease{Name: LeaseName, Owner: s.config.Owner, Epoch: s.epoch}
}

// holdLease keeps the lease, or takes it if it is free.
func (s *Service) holdLease(ctx context.Context) (bool, error) {
	if s.epoch != 0 {
		err := s.store.RenewLease(ctx, LeaseName, s.config.Owner, s.epoch, s.config.Lease)
		if !errors.Is(err, fault.ErrStale) {
			return err == nil, err
		}
		s.epoch = 0
		s.log.Warn("another process took over the alerts: this one was silent for too long")
	}
	epoch, held, err := s.store.AcquireLease(ctx, LeaseName, s.config.Owner, s.config.Lease)
	switch {
	case err != nil:
		return false, err
	case held:
		s.epoch, s.standby = epoch, false
		s.log.Info("telling alerts", "receivers", s.config.Declared.ReceiverNames(), "every", s.config.Declared.LookEvery().String())
	case !s.standby:
		s.standby = true
		s.log.Info("another process tells alerts; standing by")
	}
	return held, nil
}

// Release gives the lease back, so that another process need not wait.
func (s *Service) Release(ctx context.Context) {
	if s.epoch == 0 {
		return
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := s.store.ReleaseLease(last, LeaseName, s.config.Owner, s.epoch); err != nil {
		s.log.Warn("the lease of alerts was not given back; it expires automatically", "error", err)
	}
	s.epoch = 0
}
