package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/link"
	"github.com/patra-ingest/patra/internal/driver/tlsfile"
	"github.com/patra-ingest/patra/internal/pause"
	"github.com/patra-ingest/patra/internal/surface/entrance"
	"github.com/patra-ingest/patra/internal/surface/metrics"
)

// EntranceAddress is where the HTTP interface is, unless told otherwise.
const EntranceAddress = "127.0.0.1:8750"

// EntranceConfig is where the HTTP interface and the dashboard are, and who comes in.
type EntranceConfig struct {
	Address   string         // HOST:PORT or unix:PATH; empty: EntranceAddress
	Cert, Key string         // files of the certificate; empty: not encrypted
	Hosts     []string       // names it answers to, beside its own address and those of this machine
	Proxies   []netip.Prefix // that may ask for others, in plain text
	Anonymous access.Role    // of who brings nothing; empty: they are refused
	Version   string         // of the program, for people
	// TokenFile is where the first access token goes, if nobody has one; empty: beside a
	// SQLite file, else nowhere.
	TokenFile string
	// Tell shows a one-time login link to the person who started the process; nil: nobody
	// is there to see it, and the first token goes to TokenFile.
	Tell func(address string)
	// Opened is told where the dashboard is and which file has the first access token, once
	// it answers; no file: a login link was shown, or somebody has a token already.
	Opened func(address, tokenFile string)
	// LookEvery is how often those who watch are told what changed; zero: as usual.
	LookEvery time.Duration
}

func (c EntranceConfig) isSocket() bool { return strings.HasPrefix(c.Address, "unix:") }

func (c EntranceConfig) encrypts() bool { return c.Cert != "" }

// WithDefaults fills what was left open.
func (c EntranceConfig) WithDefaults() EntranceConfig {
	if c.Address == "" {
		c.Address = EntranceAddress
	}
	return c
}

// Check refuses what would let others read or act who should not (R1).
func (c EntranceConfig) Check() error {
	c = c.WithDefaults()
	if (c.Cert == "") != (c.Key == "") {
		return fmt.Errorf("%w: a certificate needs its key, and a key its certificate", fault.ErrInvalid)
	}
	if c.Anonymous != "" && c.Anonymous != access.Viewer {
		return fmt.Errorf("%w: a caller without an access token can be viewer at most", fault.ErrInvalid)
	}
	if c.isSocket() {
		return nil
	}
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return fmt.Errorf("%w: address to listen on: %w; use HOST:PORT, such as %s, or unix:PATH", fault.ErrInvalid, err, EntranceAddress)
	}
	if host != "" && link.IsLocal(host) {
		return nil
	}
	switch {
	case c.Anonymous != "":
		return fmt.Errorf("%w: %s can be reached from other machines, and callers from there need an access token: leave out --anonymous", fault.ErrInvalid, c.Address)
	case !c.encrypts() && len(c.Proxies) == 0:
		return c.exposedError()
	case isEverywhere(host) && len(c.Hosts) == 0:
		return fmt.Errorf("%w: %s is every address of this machine, so the names it answers to must be given: --host NAME", fault.ErrInvalid, c.Address)
	}
	return nil
}

func (c EntranceConfig) exposedError() error {
	return fmt.Errorf("%w: %s can be reached from other machines, so it needs TLS: give --listen-cert and --listen-key, or name the proxy that encrypts with --behind-proxy ADDRESS, or listen on 127.0.0.1", fault.ErrInvalid, c.Address)
}

func isEverywhere(host string) bool {
	at, err := netip.ParseAddr(host)
	return host == "" || err == nil && at.IsUnspecified()
}

// openEntrance begins to listen.
func (c EntranceConfig) openEntrance(ctx context.Context) (net.Listener, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	var config *tls.Config
	if c.encrypts() {
		var err error
		if config, err = tlsfile.ServerConfig(c.Cert, c.Key); err != nil {
			return nil, err
		}
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	l, err := c.bind(ctx)
	if err != nil {
		return nil, err
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() && (config == nil && len(c.Proxies) == 0 || c.Anonymous != "") {
		_ = l.Close() // a name that says it is this machine, and leads elsewhere
		return nil, c.exposedError()
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	return l, nil
}

// bind opens the socket. A unix socket is the user's alone; one that a dead process left
// behind is replaced.
func (c EntranceConfig) bind(ctx context.Context) (net.Listener, error) {
	path, socket := strings.CutPrefix(c.Address, "unix:")
	if !socket {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Address)
		if err != nil {
			err = fmt.Errorf("%w: listen on %s: %w; does another process use the port? --listen names another", fault.ErrInvalid, c.Address, err)
		}
		return l, err
	}
	if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("%w: another process listens on %s", fault.ErrInvalid, path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return listenPrivately(ctx, path)
}

// hosts are the names that the process answers to.
func (c EntranceConfig) hosts(l net.Listener) []string {
	out := slices.Concat(entrance.LocalHosts(), c.Hosts)
	if host, _, err := net.SplitHostPort(c.Address); err == nil && !c.isSocket() && !isEverywhere(host) {
		out = append(out, host)
	}
	if at, ok := l.Addr().(*net.TCPAddr); ok && !at.IP.IsUnspecified() {
		out = append(out, at.IP.String())
	}
	return out
}

// url is where people find the process.
func (c EntranceConfig) url(l net.Listener) string {
	if c.isSocket() {
		return c.Address
	}
	scheme := "http://"
	if c.encrypts() {
		scheme = "https://"
	}
	at := l.Addr().String()
	if host, port, err := net.SplitHostPort(at); err == nil && isEverywhere(host) {
		at = net.JoinHostPort(c.Hosts[0], port)
	}
	return scheme + at
}

// openDoor opens the HTTP interface; close ends it. Until then it answers, also while the
// process stops: who watches it sees that.
func (a *App) openDoor(ctx context.Context, stop context.CancelCauseFunc) (closeDoor func(), err error) {
	c := a.config.Entrance.WithDefaults()
	l, err := c.openEntrance(ctx)
	if err != nil {
		return nil, err
	}
	e := entrance.New(entrance.Settings{
		Keys: a.store, Sessions: sessionKeeper{a.store}, Journal: a.store, Log: a.config.Log,
		Hosts: c.hosts(l), TLS: c.encrypts(), Proxies: c.Proxies, Anonymous: c.Anonymous, CookieMark: cookieMark(l),
	})
	written, err := a.introduce(ctx, e, c, c.url(l))
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	var both sync.WaitGroup
	both.Go(func() { e.Run(serving) })
	both.Go(func() {
		if err := entrance.ServeUntil(serving, l, e.Wrap(a.routes(ctx, serving.Done()), publicPaths()...), a.config.Log, lastWords); err != nil {
			stop(fmt.Errorf("api: %w", err))
		}
	})
	a.config.Log.Info("the HTTP interface answers", "address", c.url(l), "tls", c.encrypts())
	if c.Opened != nil {
		c.Opened(c.url(l), written)
	}
	return func() {
		end()
		both.Wait()
	}, nil
}

// routes joins what stands behind the entrance. Streams end when ends is closed, so that
// nobody waits for them when the door is shut.
func (a *App) routes(working context.Context, ends <-chan struct{}) http.Handler {
	api, web := a.newSurfaces(ends)
	mux := http.NewServeMux()
	health := metrics.NewHealthHandler(func(ctx context.Context) error {
		if working.Err() != nil {
			return errors.New("the process is stopping")
		}
		return a.checkReady(ctx)
	})
	mux.Handle("/healthz", health)
	mux.Handle("/readyz", health)
	mux.Handle("/v1/", api)
	mux.Handle("/openapi.json", api)
	mux.Handle("/", web)
	return mux
}

// cookieMark tells processes on one machine apart, whose ports share their cookies.
func cookieMark(l net.Listener) string {
	if at, ok := l.Addr().(*net.TCPAddr); ok {
		return fmt.Sprintf("-%d", at.Port)
	}
	return ""
}

const (
	accessKept   = 30 * 24 * time.Hour // of tokens and sessions that are over
	pruneAccess  = time.Hour
	pruneAtATime = 500
)

// stayOpen is the duty of the role api beside the open door: it removes what is over for
// long.
func (a *App) stayOpen(ctx context.Context) error {
	for {
		now, err := a.store.Now(ctx)
		if err == nil {
			err = a.store.PruneAccess(ctx, now.Add(-accessKept), pruneAtATime)
		}
		if err != nil && ctx.Err() == nil {
			a.config.Log.Warn("old access tokens and sessions could not be removed; it is tried again", "error", err)
		}
		if err := pause.For(ctx, pruneAccess); err != nil {
			return err
		}
	}
}
