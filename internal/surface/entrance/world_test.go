package entrance_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/mysql"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/surface/entrance"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
)

// house is an entrance before a handler that tells who came in, on a real listener and a
// real store.
type house struct {
	*testing.T
	door    *entrance.Entrance
	db      *store.Store
	server  *httptest.Server
	handler http.Handler
	mu      sync.Mutex
	now     time.Time
	log     strings.Builder
}

var noon = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func (h *house) read() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// Write keeps what is logged.
func (h *house) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(b)
}

func (h *house) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// keeper makes tokens of links as daemon does.
type keeper struct{ *store.Store }

// LinkToken makes an admin's token that nobody knows.
func (k keeper) LinkToken(ctx context.Context, _ string) (access.Token, error) {
	return k.CreateAccessToken(ctx, access.HashText("behind the link"), access.Token{Name: "link", Role: access.Admin}, access.LinkLife, ingest.Act{Actor: access.LinkActor})
}

// forEachDatabase builds a house on every database.
func forEachDatabase(t *testing.T, change func(*entrance.Settings), body func(h *house)) {
	for name, open := range map[string]func(h *house) (*store.Store, error){
		"sqlite": func(h *house) (*store.Store, error) {
			return sqlite.Open(h.Context(), sqlite.Config{Path: filepath.Join(h.TempDir(), "t.db"), Relaxed: true}, store.Options{Clock: h.read})
		},
		"mysql": func(h *house) (*store.Store, error) {
			return mysql.Open(h.Context(), mariadb.DSN(h), store.Options{Clock: h.read})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &house{T: t, now: noon}
			var err error
			if h.db, err = open(h); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = h.db.Close() })
			if _, err := h.db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.build(change)
			body(h)
		})
	}
}

// onSQLite builds a house where the store does not matter.
func onSQLite(t *testing.T, change func(*entrance.Settings)) *house {
	h := &house{T: t, now: noon}
	var err error
	if h.db, err = sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "t.db"), Relaxed: true}, store.Options{Clock: h.read}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.db.Close() })
	if _, err := h.db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.build(change)
	return h
}

func newLog(to io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

func (h *house) build(change func(*entrance.Settings)) {
	s := entrance.Settings{Keys: h.db, Sessions: keeper{h.db}, Journal: h.db, Log: newLog(h), Hosts: entrance.LocalHosts(), CookieMark: "-1", Now: h.read}
	if change != nil {
		change(&s)
	}
	h.door = entrance.New(s)
	h.handler = h.door.Wrap(http.HandlerFunc(h.answer), "/healthz", "/static/")
	h.server = httptest.NewUnstartedServer(nil)
	h.server.Config = entrance.NewServer(h.handler, newLog(h))
	h.server.Start()
	h.Cleanup(h.server.Close)
}

// answer tells who came in, reads what they sent, and breaks where it is told to.
func (h *house) answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/broken":
		panic("SELECT secret FROM canary")
	case "/v1/admin":
		if !entrance.CallerOf(r.Context()).May(access.Admin) {
			entrance.Forbid(w, r, access.Admin)
			return
		}
	case "/v1/hidden":
		entrance.NoteRefusal(r.Context(), "another source")
		http.NotFound(w, r)
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	c := entrance.CallerOf(r.Context())
	_, _ = io.WriteString(w, c.Actor()+" "+string(c.Role)+" from "+entrance.Address(r.Context()))
}

// token makes a token and returns its text.
func (h *house) token(name string, role access.Role, lasts time.Duration) string {
	h.Helper()
	var random [access.SecretBytes]byte
	copy(random[:], name)
	text := access.Spell(random)
	if _, err := h.db.CreateAccessToken(h.Context(), access.HashText(text), access.Token{Name: name, Role: role}, lasts, ingest.Act{Actor: "tester"}); err != nil {
		h.Fatal(err)
	}
	return text
}

// reply is what came back.
type reply struct {
	*http.Response
	text string
}

// ask sends a request. Headers are pairs; Host is one of them.
func (h *house) ask(method, path, body string, headers ...string) reply {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, h.server.URL+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		h.Fatal(err)
	}
	return reply{got, string(text)}
}

// expect asks and wants a status.
func (h *house) expect(status int, method, path, body string, headers ...string) reply {
	h.Helper()
	got := h.ask(method, path, body, headers...)
	if got.StatusCode != status {
		h.Errorf("%s %s %v: answered %d, want %d\n%s", method, path, headers, got.StatusCode, status, got.text)
	}
	return got
}

const form = "application/x-www-form-urlencoded"

// logIn logs a browser in and returns its cookie.
func (h *house) logIn(values url.Values, headers ...string) (reply, *http.Cookie) {
	h.Helper()
	got := h.ask("POST", "/login", values.Encode(), append([]string{"Content-Type", form}, headers...)...)
	for _, c := range got.Cookies() {
		return got, c
	}
	return got, nil
}

// audited lists the rows of the audit log with an action, when the clerk has written.
func (h *house) audited(action string) (out []string) {
	h.Helper()
	ctx, cancel := context.WithCancel(h.Context())
	cancel() // Run writes what is left and ends
	h.door.Run(ctx)
	rows, err := h.db.AuditLog(h.Context(), view.Filter{Limit: 500})
	if err != nil {
		h.Fatal(err)
	}
	for _, e := range rows {
		if e.Action == action {
			out = append(out, e.Actor+" "+e.Object+" "+e.Reason+" "+string(e.Detail))
		}
	}
	return out
}

func prefixes(texts ...string) (out []netip.Prefix) {
	for _, t := range texts {
		out = append(out, netip.MustParsePrefix(t))
	}
	return out
}

// dial opens a bare connection to the house.
func (h *house) dial() net.Conn {
	h.Helper()
	conn, err := new(net.Dialer).DialContext(h.Context(), "tcp", h.server.Listener.Addr().String())
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { conn.Close() })
	return conn
}
