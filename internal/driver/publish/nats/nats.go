// Package nats publishes events to a JetStream stream. An event counts as delivered
// when the stream has stored it. The id of the event is the id of the message, so a
// stream drops what comes twice within its window.
//
// It must never take words of a subject from records, nor keep events in memory
// while the server is unreachable: the outbox is the only queue.
package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/core/secret"
)

// Options are what differs between two streams.
type Options struct {
	URL         string
	Stream      string
	Subject     string // what subjects begin with
	Token       secret.Ref
	Credentials string        // a file; empty: none
	Security    link.Security // of the connection
	Timeout     time.Duration // of the acknowledgement of one event (default 10 s)
	// Reveal reads the token, at each connection.
	Reveal func(ctx context.Context, ref secret.Ref) (secret.Text, error)
}

// Publisher publishes to one stream. It is safe for concurrent use.
type Publisher struct {
	options Options
	conn    *nats.Conn
	stream  jetstream.JetStream
	refused *refusal
}

const (
	reconnectEvery = time.Second
	inFlight       = 4096 // events that wait for their acknowledgement
)

// Open connects, now or when the server is there: a broker that is down does not
// keep a relay from starting.
func Open(o Options) (*Publisher, error) {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	options := []nats.Option{
		nats.Name("patra relay"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectEvery),
		nats.ReconnectBufSize(-1), // while the server is unreachable, say so
	}
	if !o.Token.IsZero() {
		options = append(options, nats.TokenHandler(func() string {
			ctx, cancel := context.WithTimeout(context.Background(), o.Timeout)
			defer cancel()
			text, err := o.Reveal(ctx, o.Token)
			if err != nil {
				return "" // the server refuses, and the relay says that it does
			}
			return text.Reveal()
		}))
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	safe, err := secureOptions(o)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	options = append(options, safe...)
	refused := &refusal{}
	conn, err := refused.connectOnce(o.URL, options)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	stream, err := jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(inFlight), jetstream.WithPublishAsyncTimeout(o.Timeout))
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return &Publisher{options: o, conn: conn, stream: stream, refused: refused}, nil
}

// Publish sends all events and then waits for each acknowledgement.
func (p *Publisher) Publish(ctx context.Context, events []event.Sealed) []error {
	answers := make([]error, len(events))
	if !p.conn.IsConnected() {
		err := fmt.Errorf("not connected to NATS: %w", explainError(p.refused.orElse(p.conn.LastError())))
		for i := range answers {
			answers[i] = err
		}
		return answers
	}
	waiting := make([]jetstream.PubAckFuture, len(events))
	for i, e := range events {
		// The client may send a message again on its own, after this call has ended.
		message := &nats.Msg{Subject: p.subjectOf(e), Data: bytes.Clone(e.Bytes), Header: nats.Header{"Content-Type": {event.ContentType}}}
		waiting[i], answers[i] = p.stream.PublishMsgAsync(message, jetstream.WithMsgID(e.ID), jetstream.WithExpectStream(p.options.Stream))
		answers[i] = judgeError(answers[i])
	}
	p.awaitAcks(ctx, waiting, answers)
	return answers
}

var errConnectionLost = errors.New("the connection to NATS was lost before the answer")

// awaitAcks waits for each acknowledgement. When the connection is lost, those that are
// not here yet will never come.
func (p *Publisher) awaitAcks(ctx context.Context, waiting []jetstream.PubAckFuture, answers []error) {
	lost := p.conn.StatusChanged(nats.RECONNECTING, nats.CLOSED)
	defer p.conn.RemoveStatusListener(lost)
	if !p.conn.IsConnected() {
		ctx = endedContext(errConnectionLost)
	}
	for i, w := range waiting {
		if w == nil {
			continue
		}
		select {
		case <-w.Ok():
		case err := <-w.Err():
			answers[i] = judgeError(err)
		case <-ctx.Done():
			answers[i] = settledOr(w, context.Cause(ctx))
		case <-lost:
			ctx = endedContext(errConnectionLost)
			answers[i] = settledOr(w, errConnectionLost)
		}
	}
}

func endedContext(why error) context.Context {
	ctx, stop := context.WithCancelCause(context.Background())
	stop(why)
	return ctx
}

// settledOr takes the answer that came at the same moment.
func settledOr(w jetstream.PubAckFuture, otherwise error) error {
	select {
	case <-w.Ok():
		return nil
	default:
		return otherwise
	}
}

var errNoServer = errors.New("no server answers at the address")

// judgeError tells what is wrong with the event from what is wrong with the server.
func judgeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return fmt.Errorf("%w: %w", event.ErrTooLarge, err)
	}
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == tooLargeForStream {
		return fmt.Errorf("%w: %s", event.ErrTooLarge, api.Description)
	}
	return fmt.Errorf("NATS: %w", err)
}

// tooLargeForStream is the server's code for a message over the limit of a stream.
const tooLargeForStream jetstream.ErrorCode = 10054

// subjectOf has words of sources and ops only.
func (p *Publisher) subjectOf(e event.Sealed) string {
	words := []string{p.options.Subject, subjectWord(e.Source), subjectWord(e.Endpoint)}
	if e.Op != "" {
		words = append(words, subjectWord(strings.ToLower(string(e.Op))))
	}
	return strings.Join(words, ".")
}

// subjectWord makes a text one word of a subject.
func subjectWord(text string) string {
	if text == "" {
		return "_"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, text)
}

// Close ends the connection.
func (p *Publisher) Close() error {
	p.conn.Close()
	return nil
}
