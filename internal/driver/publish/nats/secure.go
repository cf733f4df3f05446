package nats

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/driver/tlsfile"
)

// secureOptions says how the way to the servers is encrypted (D§5.30). The client would
// otherwise send the token to whoever says that it has no TLS, and follow a server
// of this machine to any other that it names.
func secureOptions(o Options) ([]nats.Option, error) {
	of := event.NATS{URL: o.URL, Security: o.Security}
	if !of.Encrypts() {
		if of.Exposed() != "" {
			return nil, nil // tls: off is written out
		}
		return []nats.Option{nats.IgnoreDiscoveredServers(), nats.SetCustomDialer(localOnly{o})}, nil
	}
	s := o.Security
	s.TLS = link.On
	config, err := tlsfile.Config(s, "")
	if err != nil {
		return nil, err
	}
	return []nats.Option{nats.Secure(config)}, nil // the client checks the name of each server
}

type localOnly struct{ options Options }

func (l localOnly) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.options.Timeout)
	defer cancel()
	return tlsfile.DialLocal(ctx, network, address)
}

// explainError adds what to do where a server is not believed.
func explainError(err error) error {
	if errors.Is(err, nats.ErrSecureConnWanted) {
		return fmt.Errorf("%w: the server does not offer TLS, so no token and no event was sent: turn TLS on there; only if the network between is safe, write tls: off", err)
	}
	if advice := tlsfile.Advice(err); advice != "" {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

// refusal remembers why there is no connection: the client says nothing of a
// server that it never got through to.
type refusal struct {
	mu   sync.Mutex
	last error
}

// connectOnce tries once, to hear why it fails, and then for ever.
func (r *refusal) connectOnce(address string, options []nats.Option) (*nats.Conn, error) {
	heard := nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { r.noteError(err) })
	options = append(slices.Clip(options), heard)
	conn, err := nats.Connect(address, append(slices.Clip(options), nats.RetryOnFailedConnect(false))...)
	if err == nil {
		return conn, nil
	}
	r.noteError(err)
	return nats.Connect(address, options...)
}

func (r *refusal) noteError(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = err
}

// orElse returns what the client says, else what the connection reported, else that the
// server does not answer.
func (r *refusal) orElse(said error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case said != nil:
		return said
	case r.last != nil && !errors.Is(r.last, nats.ErrNoServers):
		return r.last
	}
	return errNoServer
}
