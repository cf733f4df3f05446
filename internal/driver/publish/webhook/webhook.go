// Package webhook publishes events to an address, one a request, signed as the
// Standard Webhooks specification says, so that the receiver can tell that an event
// is ours and was not altered.
//
// It must never send a request without a signature, follow a redirect, go through a
// proxy that the environment names, reach a private address that nobody allowed, or
// say anything in an error that is not its own words.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/driver/hook"
)

// Options are what differs between two receivers.
type Options struct {
	URL        string
	Secret     secret.Ref
	OldSecret  secret.Ref    // signs too, while receivers change to the other; none if empty
	Concurrent int           // requests at once (default 8)
	Timeout    time.Duration // of one request (default 15 s)
	// AllowPrivate lets it reach this machine and its network.
	AllowPrivate bool
	// Reveal reads the secret, each time events are published.
	Reveal hook.Reveal
	// Client and Clock replace the usual ones; for tests.
	Client *http.Client
	Clock  func() time.Time
}

// Publisher sends events to one address. It is safe for concurrent use.
type Publisher struct{ options Options }

// New makes a publisher.
func New(o Options) *Publisher {
	if o.Concurrent == 0 {
		o.Concurrent = 8
	}
	if o.Timeout == 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Client == nil {
		o.Client = &http.Client{Transport: hook.NewTransport(hook.Way{AllowPrivate: o.AllowPrivate, Concurrent: o.Concurrent})}
	}
	o.Client = hook.FollowNothing(*o.Client)
	return &Publisher{o}
}

var errNotTried = errors.New("not tried: the receiver is in trouble")

// Publish sends the events, some at once. When the receiver cannot be reached, the
// rest is not tried.
func (p *Publisher) Publish(ctx context.Context, events []event.Sealed) []error {
	answers := make([]error, len(events))
	keys, err := p.signingKeys(ctx)
	if err != nil {
		for i := range answers {
			answers[i] = err
		}
		return answers
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	slots := make(chan struct{}, p.options.Concurrent)
	var trouble sync.Once
	halted := make(chan struct{})
	var sending sync.WaitGroup
	for i, e := range events {
		select {
		case slots <- struct{}{}:
		case <-halted:
			answers[i] = errNotTried
			continue
		}
		select {
		case <-halted:
			<-slots
			answers[i] = errNotTried
			continue
		default:
		}
		sending.Go(func() {
			defer func() { <-slots }()
			answers[i] = p.sendEvent(ctx, keys, e)
			if err := answers[i]; err != nil && !errors.Is(err, event.ErrRefused) && !errors.Is(err, event.ErrTooLarge) {
				trouble.Do(func() { close(halted) })
			}
		})
	}
	sending.Wait()
	return tellWhy(answers)
}

// tellWhy puts what went wrong in the place of "not tried": whoever reads the last
// answer wants the reason.
func tellWhy(answers []error) []error {
	var why error
	for _, err := range answers {
		if err != nil && !errors.Is(err, errNotTried) && !errors.Is(err, event.ErrRefused) && !errors.Is(err, event.ErrTooLarge) {
			why = err
			break
		}
	}
	for i, err := range answers {
		if why != nil && errors.Is(err, errNotTried) {
			answers[i] = why
		}
	}
	return answers
}

// signingKeys returns those that sign: the secret, and the one before it while
// receivers change over.
func (p *Publisher) signingKeys(ctx context.Context) ([][]byte, error) {
	refs := []secret.Ref{p.options.Secret}
	if !p.options.OldSecret.IsZero() {
		refs = append(refs, p.options.OldSecret)
	}
	return hook.SigningKeys(ctx, p.options.Reveal, refs...)
}

func (p *Publisher) sendEvent(ctx context.Context, keys [][]byte, e event.Sealed) error {
	ctx, cancel := context.WithTimeout(ctx, p.options.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.options.URL, bytes.NewReader(bytes.Clone(e.Bytes))) // it may be read after an early answer
	if err != nil {
		return errors.New("the address of the webhook cannot be used")
	}
	request.Header.Set("Content-Type", event.ContentType+"; charset=utf-8")
	request.Header.Set("User-Agent", "patra-relay")
	hook.SetHeaders(request.Header, keys, e.ID, p.options.Clock(), e.Bytes)
	answer, err := p.options.Client.Do(request)
	if err != nil {
		return hook.NoAnswer(err, p.options.Timeout)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection is used again
	return judgeStatus(answer.StatusCode)
}

// judgeStatus tells what is wrong with the event from what is wrong with the receiver. A
// status that speaks of who asks, or of the address, is about all events.
func judgeStatus(status int) error {
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: status %d", event.ErrTooLarge, status)
	case status == http.StatusBadRequest || status == http.StatusConflict || status == http.StatusUnsupportedMediaType || status == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: status %d", event.ErrRefused, status)
	}
	return fmt.Errorf("status %d", status)
}

// Close gives connections back.
func (p *Publisher) Close() error {
	p.options.Client.CloseIdleConnections()
	return nil
}
