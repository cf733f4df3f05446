package maintenance

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// How often a process that serves looks whether a run is due, and how long ago
// the last one of any process must be. What fails is tried again at the next look.
const (
	lookEvery = 10 * time.Minute
	runEvery  = 24 * time.Hour
)

// Run does what the policy asks for once a day, until ctx ends. Whatever fails is
// logged and tried again: the work of the process does not depend on it.
func (s *Service) Run(ctx context.Context, p retention.Policy) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		s.runDue(ctx, p)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// runDue does the duties that were not done for a day.
func (s *Service) runDue(ctx context.Context, p retention.Policy) {
	by := ingest.Act{Actor: s.config.Owner, Reason: "retention of this process"}
	for _, duty := range []struct {
		name   string
		wanted bool
		do     func() error
	}{
		{ArchiveDuty, p.Archives(), func() error { _, err := s.Archive(ctx, p, by); return err }},
		{PruneDuty, p.Prunes(), func() error { _, err := s.Prune(ctx, p, by); return err }},
		{sizeDuty, true, func() error { _, err := s.Measure(ctx, false); return err }},
	} {
		if !duty.wanted {
			continue
		}
		due, err := s.isDue(ctx, duty.name)
		if err == nil && due {
			err = duty.do()
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrBusy) {
			s.log.Warn("maintenance was not done", "duty", duty.name, "error", err)
		}
	}
}

func (s *Service) isDue(ctx context.Context, duty string) (bool, error) {
	last, err := s.store.LastUpkeep(ctx, duty)
	if err != nil {
		return false, err
	}
	now, err := s.store.Now(ctx)
	return err == nil && now.Sub(last) >= runEvery, err
}
