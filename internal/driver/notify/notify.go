// Package notify tells people what was found: by a webhook, by mail, or through a program
// of their own.
//
// It must never send anything in the clear to another machine, start a shell, or say
// anything in an error that is not its own words: addresses and answers may hold secrets.
package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/alert"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/hook"
	"github.com/patra-ingest/patra/internal/driver/secrets"
)

// Sender tells one receiver. An error that is alert.ErrRefused stays however often it
// is tried; any other may pass. It is safe for concurrent use.
type Sender interface {
	Send(ctx context.Context, m alert.Message) error
}

// Options are what a test replaces. The zero value is for everybody else.
type Options struct {
	Reveal  hook.Reveal      // reads secrets; those of patra.yaml are the operator's own
	Timeout time.Duration    // of one message
	Clock   func() time.Time // of signatures and of the date of a mail
}

// usualTimeout is how long one message may take. A receiver that is slower is no use at
// night, and others wait.
const usualTimeout = 30 * time.Second

// Open makes the sender of a receiver of patra.yaml. It reads files with certificates,
// and no secrets: they are read for each message, so that a new one is in force at once.
func Open(name string, r alert.Receiver, o Options) (Sender, error) {
	if o.Reveal == nil {
		o.Reveal = secrets.System{}.Reveal
	}
	if o.Timeout == 0 {
		o.Timeout = usualTimeout
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	s, err := openKind(r, o)
	if err != nil {
		return nil, fmt.Errorf("alert receiver %s: %w", name, err)
	}
	return named{s, name, o.Timeout}, nil
}

func openKind(r alert.Receiver, o Options) (Sender, error) {
	switch {
	case r.Webhook != nil:
		return newWebhook(*r.Webhook, o)
	case r.Mail != nil:
		return newMail(*r.Mail, o)
	case r.Command != nil:
		return command{*r.Command}, nil
	}
	return nil, fmt.Errorf("%w: it has no kind", fault.ErrInvalid)
}

// named bounds the time of a message and says which receiver an error is about.
type named struct {
	Sender
	name    string
	timeout time.Duration
}

func (n named) Send(ctx context.Context, m alert.Message) error {
	limited, cancel := context.WithTimeout(ctx, n.timeout)
	defer cancel()
	err := n.Sender.Send(limited, m)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		err = fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return fmt.Errorf("alert receiver %s: %w", n.name, err)
}
