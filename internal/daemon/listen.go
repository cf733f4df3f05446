package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/core/secret"
	"github.com/patra-ingest/patra/internal/driver/secrets"
	"github.com/patra-ingest/patra/internal/driver/tlsfile"
	"github.com/patra-ingest/patra/internal/pause"
	"github.com/patra-ingest/patra/internal/surface/entrance"
	"github.com/patra-ingest/patra/internal/surface/metrics"
)

// ListenConfig is where a process that serves shows its metrics and its health.
type ListenConfig struct {
	Address   string        // host:port; empty: nowhere
	Cert, Key string        // files of the certificate; empty: not encrypted
	Token     string        // reference to what readers of the metrics must bring; empty: nothing
	Every     time.Duration // how often stored rows are read for it (default 30 s)
}

// Bounds of what people may ask for.
const (
	gaugesEvery  = 30 * time.Second
	shortestRead = time.Second // between two readings of stored rows
	fewestToken  = 16          // characters of a token
)

// Check refuses to show the work to other machines in plain text or to everybody
// (D§5.30): names of sources and their state are nobody's business.
func (l ListenConfig) Check() error {
	if l.Address == "" {
		if l.Cert+l.Key+l.Token != "" {
			return fmt.Errorf("%w: a certificate or a token is given, but no address to listen on", fault.ErrInvalid)
		}
		return nil
	}
	host, _, err := net.SplitHostPort(l.Address)
	if err != nil {
		return fmt.Errorf("%w: address to listen on: %w; use HOST:PORT, such as 127.0.0.1:9464", fault.ErrInvalid, err)
	}
	if (l.Cert == "") != (l.Key == "") {
		return fmt.Errorf("%w: a certificate needs its key, and a key its certificate", fault.ErrInvalid)
	}
	if l.Every != 0 && l.Every < shortestRead {
		return fmt.Errorf("%w: --metrics-every (patra.yaml: listen.metricsEvery) is too short: use at least %s", fault.ErrInvalid, shortestRead)
	}
	if host != "" && link.IsLocal(host) {
		return nil
	}
	if l.Cert == "" || l.Token == "" {
		return l.exposedError()
	}
	return nil
}

func (l ListenConfig) exposedError() error {
	return fmt.Errorf("%w: %s can be reached from other machines, so it needs TLS and a token: give --metrics-cert, --metrics-key and --metrics-token, or listen on 127.0.0.1", fault.ErrInvalid, l.Address)
}

// openListener begins to listen, and returns the token that readers must bring.
func (l ListenConfig) openListener(ctx context.Context) (net.Listener, secret.Text, error) {
	if err := l.Check(); err != nil {
		return nil, secret.Text{}, err
	}
	token, err := l.revealToken(ctx)
	if err != nil {
		return nil, secret.Text{}, err
	}
	var config *tls.Config
	if l.Cert != "" {
		if config, err = tlsfile.ServerConfig(l.Cert, l.Key); err != nil {
			return nil, secret.Text{}, err
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.Address)
	if err != nil {
		return nil, secret.Text{}, fmt.Errorf("%w: listen on %s: %w; does another process use the port?", fault.ErrInvalid, l.Address, err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); (!ok || !at.IP.IsLoopback()) && (config == nil || token.IsZero()) {
		_ = listener.Close() // a name that says it is this machine, and leads elsewhere
		return nil, secret.Text{}, l.exposedError()
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	return listener, token, nil
}

func (l ListenConfig) revealToken(ctx context.Context) (secret.Text, error) {
	if l.Token == "" {
		return secret.Text{}, nil
	}
	var ref secret.Ref
	if ref.UnmarshalText([]byte(l.Token)) != nil { // the text is not repeated: it may be the token itself
		return secret.Text{}, fmt.Errorf("%w: the token must be a reference: env:NAME, file:PATH or exec:COMMAND", fault.ErrInvalid)
	}
	token, err := secrets.System{}.Reveal(ctx, ref)
	if err != nil {
		return secret.Text{}, fmt.Errorf("%w: token of the metrics: %w", fault.ErrInvalid, err)
	}
	if len(token.Reveal()) < fewestToken {
		return secret.Text{}, fmt.Errorf("%w: the token of the metrics is too short: at least %d characters", fault.ErrInvalid, fewestToken)
	}
	return token, nil
}

// listen shows metrics and health while the process serves, and until close is called: who
// watches it sees that it stops.
func (a *App) listen(ctx context.Context, stop context.CancelCauseFunc) (closeListener func(), err error) {
	if a.config.Metrics.Listen.Address == "" {
		return func() {}, nil
	}
	l, token, err := a.config.Metrics.Listen.openListener(ctx)
	if err != nil {
		return nil, err
	}
	showing, end := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.showMetrics(showing, ctx, l, token); err != nil {
			stop(fmt.Errorf("metrics: %w", err))
		}
	}()
	return func() {
		end()
		<-done
	}, nil
}

// showMetrics answers on a listener and keeps what is shown of stored rows fresh, until
// ctx ends. Working says for how long the process takes on work.
func (a *App) showMetrics(ctx, working context.Context, l net.Listener, token secret.Text) error {
	log := a.config.Log
	log.Info("metrics and health are shown", "address", l.Addr().String(), "tls", a.config.Metrics.Listen.Cert != "")
	refresh, stop := context.WithCancel(ctx)
	var fresh sync.WaitGroup
	fresh.Go(func() { a.keepGaugesFresh(refresh) })
	defer fresh.Wait()
	defer stop()
	ready := func(ctx context.Context) error {
		if working.Err() != nil {
			return errors.New("the process is stopping")
		}
		return a.checkReady(ctx)
	}
	handler := metrics.NewHandler(metrics.Served{Metrics: metrics.NewGatherer(a.meter, a.aboutProcess(a.config.Metrics.Version)), Token: token, Ready: ready, Compress: a.config.Metrics.Listen.Cert != "", Log: log})
	return entrance.ServeUntil(ctx, l, handler, log, lastWords)
}

// keepGaugesFresh reads stored rows now and then. The wait begins when a reading has
// ended: a slow database is not asked more often than it can answer.
func (a *App) keepGaugesFresh(ctx context.Context) {
	every := a.config.Metrics.Listen.Every
	if every == 0 {
		every = gaugesEvery
	}
	for {
		if err := a.readGauges(ctx, a.meter, ""); err != nil && ctx.Err() == nil {
			a.meter.NoteUnread()
			a.config.Log.Warn("metrics of stored rows could not be computed; what is shown is older", "error", err)
		}
		if pause.For(ctx, every) != nil {
			return
		}
	}
}

// checkReady says why the process cannot work now, without what an error may tell of
// addresses; the log has it.
func (a *App) checkReady(ctx context.Context) error {
	status, err := a.store.Schema(ctx)
	if err == nil {
		err = a.store.Present()
	}
	switch {
	case err != nil:
		a.config.Log.Warn("not ready", "error", err)
		return errors.New("the database cannot be read")
	case len(status.Pending) > 0:
		return errors.New("the database must be migrated: run patra db migrate")
	}
	return nil
}
