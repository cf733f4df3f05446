package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// door is a process that answers at an address.
type door struct {
	*testing.T
	app     *App
	address string // HOST:PORT
	close   func()
}

// openWatched opens the door of an app whose viewers are told of changes at once.
func openWatched(t *testing.T, app *App, address string) *door {
	t.Helper()
	d := &door{T: t, app: app}
	app.config.Entrance = EntranceConfig{Address: address, TokenFile: filepath.Join(t.TempDir(), "first"), LookEvery: 10 * time.Millisecond, Opened: func(at, _ string) {
		d.address = strings.TrimPrefix(at, "http://")
	}}
	var err error
	if d.close, err = app.openDoor(t.Context(), func(err error) { t.Error(err) }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	return d
}

// token makes one for some sources, or for all.
func (d *door) token(name string, sources ...string) string {
	d.Helper()
	text, _, err := d.app.Tokens.Create(d.Context(), TokenWish{Name: name, Role: access.Viewer, Sources: sources, Lasts: time.Hour}, ingest.Act{Actor: "test"})
	if err != nil {
		d.Fatal(err)
	}
	return text.Reveal()
}

// line is an open stream.
type line struct {
	*testing.T
	body   *bufio.Reader
	lastID string
}

// watch opens a stream with some headers, in pairs.
func (d *door) watch(path string, headers ...string) *line {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), time.Minute)
	d.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.address+path, nil)
	if err != nil {
		d.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { got.Body.Close() })
	if got.StatusCode != http.StatusOK {
		d.Fatalf("%s answers %d", path, got.StatusCode)
	}
	return &line{T: d.T, body: bufio.NewReader(got.Body)}
}

// next returns the kind and the text of the next event, or why there is none.
func (l *line) next() (kind, data string, err error) {
	for {
		text, err := l.body.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(text, "\n"), ": ")
		switch name {
		case "id":
			l.lastID = value
		case "event":
			kind = value
		case "data":
			return kind, value, nil
		}
	}
}

func (l *line) mustNext(want string) string {
	l.Helper()
	kind, data, err := l.next()
	if kind != want {
		l.Fatalf("got %s %s, %v; want %s", kind, data, err, want)
	}
	return data
}

// mustEnd expects that the stream ends as a whole answer does.
func (l *line) mustEnd() {
	l.Helper()
	if kind, data, err := l.next(); !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		l.Errorf("after its end: %s %s, %v", kind, data, err)
	}
}

// R2: a stream ends with its token, whether it is revoked or expires, and with the session of
// a browser; others go on.
func TestR2AStreamEndsWithItsToken(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		localstore.GiveTables(t, database)
		var later atomic.Int64
		app, err := Open(t.Context(), Config{Database: database, Clock: func() time.Time { return standNow.Add(time.Duration(later.Load())) }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { app.Close() })
		d := openWatched(t, app, "127.0.0.1:0")
		revoked, browser := d.token("revoked"), d.token("browser")
		cookie := d.logIn(browser)
		lines := map[string]*line{
			"revoked": d.watch("/v1/live", "Authorization", "Bearer "+revoked),
			"session": d.watch("/v1/live", "Cookie", cookie),
			"expires": d.watch("/v1/live", "Authorization", "Bearer "+browser),
		}
		for _, l := range lines {
			l.mustNext("state")
		}
		if _, _, err := app.Tokens.Revoke(t.Context(), "revoked", ingest.Act{Actor: "test"}); err != nil {
			t.Fatal(err)
		}
		lines["revoked"].mustNext("end")
		lines["revoked"].mustEnd()
		d.logOut(cookie)
		lines["session"].mustNext("end")
		lines["session"].mustEnd()
		later.Store(int64(time.Hour))
		for kind := ""; kind != "end"; { // what the passing of an hour changes may come first
			if kind, _, err = lines["expires"].next(); err != nil {
				t.Fatal(err)
			}
		}
		lines["expires"].mustEnd()
	})
}

// logIn exchanges a token for the session of a browser, and returns its cookie.
func (d *door) logIn(token string) string {
	d.Helper()
	got := d.post("/login", url.Values{"token": {token}}, "")
	for _, c := range got.Cookies() {
		return c.Name + "=" + c.Value
	}
	d.Fatalf("login answers %d without a cookie", got.StatusCode)
	return ""
}

func (d *door) logOut(cookie string) { d.post("/logout", nil, cookie) }

func (d *door) post(path string, form url.Values, cookie string) *http.Response {
	d.Helper()
	r, err := http.NewRequestWithContext(d.Context(), http.MethodPost, "http://"+d.address+path, strings.NewReader(form.Encode()))
	if err != nil {
		d.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", cookie)
	got, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		d.Fatal(err)
	}
	got.Body.Close()
	return got
}

// R4: a token that is limited to sources is told of them alone, of what is there and of what
// changes.
func TestR4AStreamTellsOfItsSourcesAlone(t *testing.T) {
	s := newStand(t)
	d := openWatched(t, s.app, "127.0.0.1:0")
	mine, other := d.token("mine", "crossref"), d.token("other", "pubmed")
	seen := d.watch("/v1/live", "Authorization", "Bearer "+mine)
	hidden := d.watch("/v1/live", "Authorization", "Bearer "+other)
	if data := seen.mustNext("state"); !strings.Contains(data, `"GAP"`) {
		t.Errorf("the gap is not told: %s", data)
	}
	if data := hidden.mustNext("state"); strings.Contains(data, "crossref") || !strings.Contains(data, `"findings":[]`) {
		t.Errorf("another source is told: %s", data)
	}
	for _, source := range []string{"crossref", "pubmed"} {
		if _, err := s.app.Operator.Pause(t.Context(), ingest.Scope{Source: source}, ingest.Act{Actor: "test", Reason: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	if data := hidden.mustNext("finding"); strings.Contains(data, "crossref") || !strings.Contains(data, `"opened"`) || !strings.Contains(data, "PAUSED") {
		t.Errorf("the other one: %s", data)
	}
	for data := ""; !strings.Contains(data, "PAUSED"); {
		if _, text, err := seen.next(); err != nil || strings.Contains(text, "pubmed") {
			t.Fatalf("%s, %v", text, err)
		} else {
			data = text
		}
	}
	r, err := http.NewRequest(http.MethodGet, "http://"+d.address+"/v1/live?source=crossref", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+other)
	got, err := http.DefaultClient.Do(r)
	if err != nil || got.StatusCode != http.StatusNotFound {
		t.Errorf("asked for another source: %v, %v", got, err)
	}
	got.Body.Close()
}

// When the process is started anew its streams end as whole answers do and hold nobody up,
// and who comes back sees how it is now.
func TestARestartDuringAStream(t *testing.T) {
	s := newStand(t)
	d := openWatched(t, s.app, "127.0.0.1:0")
	token := d.token("viewer")
	before := d.watch("/v1/live", "Authorization", "Bearer "+token)
	before.mustNext("state")
	d.close()
	before.mustEnd()
	s.broken.Store(false)
	s.harvest("slicing.step=P1D")
	d = openWatched(t, s.app, d.address)
	after := d.watch("/v1/live", "Authorization", "Bearer "+token, "Last-Event-ID", before.lastID)
	if data := after.mustNext("state"); strings.Contains(data, `"GAP"`) {
		t.Errorf("the gap is still told: %s", data)
	}
}

// R10: a thousand clients that only wait cost little memory.
func TestR10AThousandIdleClientsCostLittle(t *testing.T) {
	const clients, tokens, most, least = 1000, 10, 60 << 20, 4 << 10
	litter(200 << 20) // what tests before this one left lying about is no room for clients
	app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { app.Close() })
	d := openWatched(t, app, "127.0.0.1:0")
	var texts []string
	for n := range tokens {
		texts = append(texts, d.token(fmt.Sprint("viewer", n)))
	}
	d.dial(texts[0]) // what the first one costs is not a client's doing
	before := heldMemory()
	for n := range clients {
		d.dial(texts[n%tokens])
	}
	used := int64(heldMemory()) - int64(before)
	t.Logf("%d clients hold %.1f MB", clients, float64(used)/(1<<20))
	if used > most {
		t.Errorf("%d clients hold %d bytes", clients, used)
	}
	if used < clients*least {
		t.Errorf("%d clients hold %d bytes, less than their connections do: this measures something else", clients, used)
	}
}

// dial opens a stream by a bare connection, and waits until it has begun.
func (d *door) dial(token string) {
	d.Helper()
	conn, err := net.Dial("tcp", d.address)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprintf(conn, "GET /v1/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", token); err != nil {
		d.Fatal(err)
	}
	var got []byte
	for piece := make([]byte, 4096); !strings.Contains(string(got), "event: state"); {
		n, err := conn.Read(piece)
		if err != nil {
			d.Fatalf("%v after %s", err, got)
		}
		got = append(got, piece[:n]...)
	}
}

// litter leaves garbage behind.
func litter(bytes int) {
	var pieces [][]byte
	for range bytes >> 20 {
		pieces = append(pieces, make([]byte, 1<<20))
	}
	runtime.KeepAlive(pieces)
}

// heldMemory is what the Go runtime holds of the machine's memory for what is alive: garbage and
// free room are given back before, else they would be counted, and then taken for clients that cost
// nothing.
func heldMemory() uint64 {
	debug.FreeOSMemory()
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}
