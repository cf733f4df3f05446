// Package alert tells people of findings: it looks at them again and again, lets
// core/alert decide what that means, and sends what was decided. One process of all does
// so, under a named lease.
//
// It must never send what is not stored as decided, nor note a delivery before its
// receiver has it: a crash between the two sends once more, with the same id. A look that
// failed decides nothing. Only that the database cannot be reached is told without it.
package alert

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/crash"
	"github.com/patra-ingest/patra/internal/pause"
)

// Store is what telling needs of the store.
type Store interface {
	MessageStore
	LeaseStore
}

// MessageStore keeps what was decided, and what became of it.
type MessageStore interface {
	DecideAlerts(ctx context.Context, l alert.Lease, c alert.Config, found []view.Finding) (queued int, err error)
	DueAlertMessages(ctx context.Context) ([]alert.Delivery, error)
	NoteAlertTry(ctx context.Context, tried alert.Delivery, failure string, refused bool) (alert.Delivery, error)
	PruneAlerts(ctx context.Context, before time.Time, limit int) error
}

// LeaseStore makes sure that one process decides and sends.
type LeaseStore interface {
	AcquireLease(ctx context.Context, name, owner string, ttl time.Duration) (epoch int64, held bool, err error)
	RenewLease(ctx context.Context, name, owner string, epoch int64, ttl time.Duration) error
	ReleaseLease(ctx context.Context, name, owner string, epoch int64) error
}

// Finder finds what a person should know, as `patra status` does.
type Finder func(ctx context.Context) ([]view.Finding, error)

// Sender hands a message to a receiver. nil means that the receiver has it.
type Sender interface {
	Send(ctx context.Context, m alert.Message) error
}

// Config is what a process decides.
type Config struct {
	Owner    string            // of the lease
	Declared alert.Config      // receivers and rules
	Senders  map[string]Sender // one for each receiver
	Lease    time.Duration     // how long it is ours without a sign of life (default 60 s, or two looks)
	Patience time.Duration     // how long one try may take (default 20 s)
	Keep     time.Duration     // how long what is over is kept (default 30 days)
}

// WithDefaults fills what was left open.
func (c Config) WithDefaults() Config {
	for _, d := range []struct {
		value *time.Duration
		or    time.Duration
	}{{&c.Lease, max(time.Minute, 2*c.Declared.LookEvery())}, {&c.Patience, 20 * time.Second}, {&c.Keep, 30 * 24 * time.Hour}} {
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	return c
}

// Service tells people of findings.
type Service struct {
	store  Store
	find   Finder
	config Config
	log    *slog.Logger

	epoch   int64 // of our lease; 0: we have none
	standby bool  // it was said that another process tells
	outage  outage
	pruned  time.Time
}

// New makes a service.
func New(s Store, find Finder, c Config, log *slog.Logger) *Service {
	return &Service{store: s, find: find, config: c.WithDefaults(), log: log}
}

// Done is what one round did.
type Done struct {
	Elsewhere bool `json:"elsewhere"` // another process tells
	Findings  int  `json:"findings"`
	Queued    int  `json:"queued"` // messages that were decided
	Sent      int  `json:"sent"`
	Failed    int  `json:"failed"` // tries that failed
}

// Run tells until ctx ends. What is being sent then is noted first.
func (s *Service) Run(ctx context.Context) error {
	defer s.Release(ctx)
	for {
		_, err := s.Once(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			s.log.Warn("findings could not be looked at for alerts; it is tried again", "error", err)
		}
		s.followOutage(ctx, err)
		if err := pause.For(ctx, s.config.Declared.LookEvery()); err != nil {
			return err
		}
	}
}

// errUnreachable marks failures before anything was looked at: the database itself does
// not answer.
type errUnreachable struct{ error }

func (e errUnreachable) Unwrap() error { return e.error }

// Once looks once, decides, and sends what is due.
func (s *Service) Once(ctx context.Context) (done Done, err error) {
	held, err := s.holdLease(ctx)
	if err != nil {
		return done, errUnreachable{err}
	}
	if !held {
		done.Elsewhere = true
		return done, nil
	}
	found, lookFailed := s.find(ctx)
	if lookFailed == nil {
		done.Findings = len(found)
		if done.Queued, err = s.store.DecideAlerts(ctx, s.lease(), s.config.Declared, found); err != nil {
			return done, err
		}
	}
	done.Sent, done.Failed, err = s.sendDue(ctx) // what was decided before goes out all the same
	s.pruneOld(ctx)
	return done, errors.Join(lookFailed, err)
}

// sendDue sends what is due until nothing is. Receivers are served side by side, so that
// one that does not answer holds no other.
func (s *Service) sendDue(ctx context.Context) (sent, failed int, err error) {
	for {
		heads, err := s.store.DueAlertMessages(ctx)
		if err != nil {
			return sent, failed, err
		}
		heads = s.ours(heads)
		if len(heads) == 0 {
			return sent, failed, nil
		}
		if held, err := s.holdLease(ctx); err != nil || !held {
			return sent, failed, err
		}
		outcomes := make([]error, len(heads))
		tried := make([]bool, len(heads))
		var all sync.WaitGroup
		for i, d := range heads {
			all.Go(func() { tried[i], outcomes[i] = s.deliver(ctx, d) })
		}
		all.Wait()
		for i := range heads {
			if tried[i] {
				sent++
			} else {
				failed++
			}
		}
		if err := errors.Join(outcomes...); err != nil {
			return sent, failed, err
		}
	}
}

// ours keeps the messages that this process has a sender for.
func (s *Service) ours(heads []alert.Delivery) (out []alert.Delivery) {
	for _, d := range heads {
		if s.config.Senders[d.Receiver] != nil {
			out = append(out, d)
		}
	}
	return out
}

// deliver sends one message and writes down what became of it. err is that of the store.
func (s *Service) deliver(ctx context.Context, d alert.Delivery) (sent bool, err error) {
	failure := s.trySend(ctx, d.Receiver, d.Message)
	if failure != nil && ctx.Err() != nil {
		return false, ctx.Err() // it was stopped, which says nothing about the receiver
	}
	text := ""
	if failure != nil {
		text = failure.Error()
	} else {
		crash.At(crash.Told)
	}
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	after, err := s.store.NoteAlertTry(noting, d, text, errors.Is(failure, alert.ErrRefused))
	about := []any{"receiver", d.Receiver, "kind", string(d.Message.Kind), "message", d.Message.ID}
	switch {
	case err != nil:
		s.log.Warn("a message was sent, and that could not be noted: it is sent again with the same id", append(about, "error", err)...)
	case failure == nil:
		s.log.Info("alert sent", append(about, "rule", d.Message.Rule, "alerts", len(d.Message.Alerts))...)
	case after.Status == alert.GivenUp:
		s.log.Error("a message of alerts was given up", append(about, "tries", after.Tries, "error", failure)...)
	default:
		s.log.Warn("a message of alerts was not delivered; it is tried again", append(about, "tries", after.Tries, "again", after.DueAt, "error", failure)...)
	}
	return failure == nil, err
}

// lastWords is how long noting a delivery may take after the process was stopped.
const lastWords = 5 * time.Second

func (s *Service) trySend(ctx context.Context, receiver string, m alert.Message) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.Patience)
	defer cancel()
	return s.config.Senders[receiver].Send(ctx, m)
}

const (
	pruneEvery  = time.Hour
	pruneAtOnce = 500
)

// pruneOld removes now and then what is over for long.
func (s *Service) pruneOld(ctx context.Context) {
	if s.epoch == 0 || time.Since(s.pruned) < pruneEvery {
		return
	}
	s.pruned = time.Now()
	if err := s.store.PruneAlerts(ctx, time.Now().Add(-s.config.Keep), pruneAtOnce); err != nil && ctx.Err() == nil {
		s.log.Warn("old alerts could not be removed; it is tried again", "error", err)
	}
}
