package entrance

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
)

// Keys finds out who brings a token or a session. What is not valid is fault.ErrNotFound.
type Keys interface {
	UsableToken(ctx context.Context, hash string) (access.Token, error)
	UsableSession(ctx context.Context, hash string) (access.Session, error)
}

// Sessions logs browsers in and out.
type Sessions interface {
	OpenSession(ctx context.Context, o access.Opening) (access.Session, error)
	EndSession(ctx context.Context, id int64, by string) error
	// LinkToken makes the token behind a one-time login link.
	LinkToken(ctx context.Context, address string) (access.Token, error)
}

// Journal keeps what was seen at the entrance.
type Journal interface {
	NoteAccessUses(ctx context.Context, tokens, sessions []int64) error
	NoteRefusals(ctx context.Context, refused []access.Refusal) error
}

// Settings say who comes in, and how.
type Settings struct {
	Keys     Keys
	Sessions Sessions
	Journal  Journal
	Log      *slog.Logger

	Hosts []string // names the process answers to, without ports; see LocalHosts
	// TLS says that the listener encrypts. Behind a proxy the proxy says so.
	TLS bool
	// Proxies may say for whom they ask. Where some are named, plain requests of other
	// machines are refused.
	Proxies []netip.Prefix
	// Anonymous is the role of who brings nothing; empty: they are refused.
	Anonymous access.Role
	// CookieMark tells the cookies of two processes on one machine apart: its port.
	CookieMark string
	// PerSecond is how many requests one token may send in a second, in the long run.
	PerSecond float64
	// Now replaces the clock of the process; for tests.
	Now func() time.Time
}

// Entrance lets callers in. It is safe for concurrent use.
type Entrance struct {
	settings Settings
	hosts    map[string]bool
	guard    *http.CrossOriginProtection
	failures *backoff
	rates    *rates
	clerk    *clerk
	links    *links
}

// New makes an entrance.
func New(s Settings) *Entrance {
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if s.PerSecond == 0 {
		s.PerSecond = usualPerSecond
	}
	e := &Entrance{settings: s, hosts: map[string]bool{}, guard: http.NewCrossOriginProtection(), failures: newBackoff(), rates: newRates(s.PerSecond), links: newLinks()}
	e.clerk = newClerk(s.Journal, s.Log, s.Now)
	for _, name := range s.Hosts {
		e.hosts[cleanHost(name)] = true
	}
	return e
}

// Wrap puts the entrance before a handler. Public paths need no caller: a path as it is, or
// all below it if it ends with a slash.
func (e *Entrance) Wrap(next http.Handler, public ...string) http.Handler {
	own := http.NewServeMux()
	own.HandleFunc("GET /login", e.showLogin)
	own.HandleFunc("POST /login", e.logIn)
	own.HandleFunc("POST /logout", e.logOut)
	own.HandleFunc("GET /login.css", showStyle)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{id: newRequestID(), entrance: e}
		seen := &watched{ResponseWriter: w}
		writeHeaders(seen.Header(), v.id)
		defer e.recoverPanic(seen, r, v)
		r, why := e.identify(r, v)
		defer func() { e.noteAnswer(seen, r, v) }()
		if why != nil {
			why.write(seen, r)
			return
		}
		r.Body = http.MaxBytesReader(seen, r.Body, mostBody)
		switch {
		case r.URL.Path == "/login" || r.URL.Path == "/logout" || r.URL.Path == "/login.css":
			own.ServeHTTP(seen, r)
		case v.caller.Role != "" || isPublic(r.URL.Path, public):
			next.ServeHTTP(seen, r)
		default:
			e.sendToLogin(seen, r)
		}
	})
}

// identify finds out who asks and whether they may; it returns why not.
func (e *Entrance) identify(r *http.Request, v *visit) (*http.Request, *refusal) {
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	if headerBytes(r) > mostHeads {
		return r, refuse(http.StatusRequestHeaderFieldsTooLarge, "HEADERS_TOO_LARGE", "the headers are too large", "send less than 16 KB")
	}
	if why := e.checkPeer(r, v); why != nil {
		return r, why
	}
	if !e.hosts[cleanHost(r.Host)] {
		return r, refuse(http.StatusMisdirectedRequest, "HOST_UNKNOWN", "this process does not answer to that name", "use its own address, or start it with --host NAME")
	}
	if why := e.authenticate(r, v); why != nil {
		return r, why
	}
	if why := e.checkOrigin(r, v); why != nil {
		return r, why
	}
	if wait := e.rates.take(v.payer(), e.settings.Now()); wait > 0 {
		return r, refuse(http.StatusTooManyRequests, "TOO_MANY_REQUESTS", "too many requests at once", "wait as long as Retry-After says, or use a token of its own for each program").after(wait)
	}
	return r, nil
}

func isPublic(path string, public []string) bool {
	for _, p := range public {
		if path == p || p[len(p)-1] == '/' && len(path) > len(p) && path[:len(p)] == p {
			return true
		}
	}
	return false
}

// Run writes down what was seen at the entrance, until ctx ends; then what is left.
func (e *Entrance) Run(ctx context.Context) { e.clerk.run(ctx) }
