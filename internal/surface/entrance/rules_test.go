package entrance_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/surface/entrance"
)

// R1: a page whose name was made to lead to this machine (rebinding) is not answered.
func TestR1ForeignHostsAreRefused(t *testing.T) {
	h := onSQLite(t, func(s *entrance.Settings) { s.Hosts = append(s.Hosts, "patra.example.org") })
	token := "Bearer " + h.token("ci", access.Viewer, time.Hour)
	for _, host := range []string{"localhost", "LOCALHOST:9000", "localhost.", "127.0.0.1", "[::1]:8750", "patra.example.org", "Patra.Example.Org:443"} {
		h.expect(200, "GET", "/", "", "Host", host, "Authorization", token)
	}
	for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8750", "localhost:evil", "10.0.0.1", "127.0.0.2", "patra.example.org.evil.example"} {
		h.expect(421, "GET", "/", "", "Host", host, "Authorization", token)
		h.expect(421, "POST", "/login", "", "Host", host, "Content-Type", form)
		h.expect(421, "GET", "/healthz", "", "Host", host)
	}
}

// R2: a token opens until it expires or is revoked, at once; nothing else does, and the
// answers do not tell what was wrong.
func TestR2TokensOpenAndEnd(t *testing.T) {
	forEachDatabase(t, nil, func(h *house) {
		text := h.token("ci", access.Operator, time.Hour)
		if got := h.expect(200, "GET", "/v1/tasks", "", "Authorization", "Bearer "+text); got.text != "api:ci#1 operator from 127.0.0.1" {
			h.Errorf("came in as %q", got.text)
		}
		revoked := h.token("leaked", access.Admin, time.Hour)
		if _, _, err := h.db.RevokeAccessToken(h.Context(), 2, ingest.Act{Actor: "tester"}); err != nil {
			h.Fatal(err)
		}
		h.advance(time.Hour)
		var texts []string
		for _, bad := range []string{"Bearer " + text, "Bearer " + revoked, "Bearer " + strings.Repeat("x", 49), "Bearer", "Basic " + text} {
			got := h.expect(401, "GET", "/v1/tasks", "", "Authorization", bad)
			texts = append(texts, problemOf(h, got).Detail)
			h.advance(time.Hour) // failures are forgotten
		}
		for _, text := range texts {
			if text != texts[0] {
				h.Errorf("the answers differ: %q", texts)
			}
		}
		h.expect(401, "GET", "/v1/tasks?access_token="+text, "")
		for _, secret := range []string{text, revoked} {
			if strings.Contains(h.logged(), secret) {
				h.Error("the log holds a token")
			}
		}
	})
}

// R2: the last use is kept, and costs a write a minute at most.
func TestR2LastUseIsKept(t *testing.T) {
	forEachDatabase(t, nil, func(h *house) {
		text := h.token("ci", access.Viewer, time.Hour)
		for range 3 {
			h.expect(200, "GET", "/", "", "Authorization", "Bearer "+text)
		}
		h.audited("")
		rows, err := h.db.AccessTokens(h.Context(), view.Filter{Limit: 1})
		if err != nil || !rows[0].LastUsed.Equal(noon) {
			h.Errorf("%+v, %v", rows, err)
		}
	})
}

// R3: a browser exchanges its token for a session that has a new id at every login, ends
// when idle, after 12 hours, at logout and with its token.
func TestA31R3SessionsBeginAndEnd(t *testing.T) {
	forEachDatabase(t, nil, func(h *house) {
		text := h.token("jane", access.Operator, 48*time.Hour)
		page := h.expect(303, "GET", "/plans/7?slice=3", "")
		if at := page.Header.Get("Location"); at != "/login?next=%2Fplans%2F7%3Fslice%3D3" {
			h.Errorf("sent to %s", at)
		}
		got, first := h.logIn(url.Values{"token": {text}, "next": {"/plans/7?slice=3"}})
		if got.StatusCode != 303 || got.Header.Get("Location") != "/plans/7?slice=3" || first == nil {
			h.Fatalf("login answered %d to %s", got.StatusCode, got.Header.Get("Location"))
		}
		if first.Name != "patra-1" || !first.HttpOnly || first.SameSite != http.SameSiteStrictMode || first.Path != "/" || first.Secure || first.Domain != "" || strings.Contains(first.Value, text) {
			h.Errorf("the cookie is %+v", first)
		}
		as := func(c *http.Cookie) []string { return []string{"Cookie", c.Name + "=" + c.Value} }
		if got := h.expect(200, "GET", "/", "", as(first)...); !strings.HasPrefix(got.text, "api:jane#1 operator") {
			h.Errorf("came in as %q", got.text)
		}
		_, second := h.logIn(url.Values{"token": {text}}, as(first)...) // fixation: never the id that was brought
		if second.Value == first.Value {
			h.Error("the id stays the same")
		}
		h.expect(303, "GET", "/", "", as(first)...)
		h.expect(200, "GET", "/", "", as(second)...)
		h.expect(303, "POST", "/logout", "", as(second)...)
		h.expect(303, "GET", "/", "", as(second)...)
		_, third := h.logIn(url.Values{"token": {text}})
		h.advance(access.SessionIdle)
		h.expect(303, "GET", "/", "", as(third)...)
		_, fourth := h.logIn(url.Values{"token": {text}})
		if _, _, err := h.db.RevokeAccessToken(h.Context(), 1, ingest.Act{Actor: "tester"}); err != nil {
			h.Fatal(err)
		}
		h.expect(303, "GET", "/", "", as(fourth)...)
		h.expect(401, "GET", "/v1/tasks", "", as(fourth)...)
	})
}

// R3: with TLS the cookie is bound to its host; a proxy may say that there is TLS.
func TestR3CookieWithTLS(t *testing.T) {
	h := onSQLite(t, func(s *entrance.Settings) { s.Proxies = prefixes("127.0.0.1/32") })
	text := h.token("jane", access.Viewer, time.Hour)
	_, c := h.logIn(url.Values{"token": {text}}, "X-Forwarded-For", "192.0.2.7", "X-Forwarded-Proto", "https")
	if c == nil || c.Name != "__Host-patra" || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("the cookie is %+v", c)
	}
}

// R3: a one-time link lets in once, by a button, for a while.
func TestR3LoginLinkWorksOnce(t *testing.T) {
	h := onSQLite(t, nil)
	path := h.door.IssueLink()
	code := strings.TrimPrefix(path, "/login?code=")
	for range 2 { // looking at it does not use it up
		if got := h.expect(200, "GET", path, ""); !strings.Contains(got.text, code) || len(got.Cookies()) > 0 {
			t.Errorf("%s", got.text)
		}
	}
	got, c := h.logIn(url.Values{"code": {code}})
	if got.StatusCode != 303 || c == nil {
		t.Fatalf("answered %d", got.StatusCode)
	}
	if got := h.expect(200, "GET", "/", "", "Cookie", c.Name+"="+c.Value); !strings.Contains(got.text, " admin ") {
		t.Errorf("came in as %s", got.text)
	}
	if got, c := h.logIn(url.Values{"code": {code}}); got.StatusCode != 401 || c != nil {
		t.Errorf("a second time it answered %d", got.StatusCode)
	}
	late := strings.TrimPrefix(h.door.IssueLink(), "/login?code=")
	h.advance(entrance.LinkLasts)
	if got, _ := h.logIn(url.Values{"code": {late}}); got.StatusCode != 401 {
		t.Errorf("a late link answered %d", got.StatusCode)
	}
	if strings.Contains(h.logged(), code) {
		t.Error("the log holds the code")
	}
}

// R3: who tries many tokens waits longer each time, also with the right one; a program
// with the right token is not kept out by another one.
func TestA31R3GuessingIsSlowedDown(t *testing.T) {
	h := onSQLite(t, nil)
	text := h.token("jane", access.Viewer, time.Hour)
	for i := range 5 {
		if got, _ := h.logIn(url.Values{"token": {fmt.Sprint("wrong", i)}}); got.StatusCode != 401 {
			t.Fatalf("attempt %d: answered %d", i, got.StatusCode)
		}
	}
	got, c := h.logIn(url.Values{"token": {text}})
	if got.StatusCode != 429 || c != nil || got.Header.Get("Retry-After") != "1" {
		t.Errorf("answered %d, again after %q", got.StatusCode, got.Header.Get("Retry-After"))
	}
	h.expect(200, "GET", "/v1/tasks", "", "Authorization", "Bearer "+text)
	h.advance(time.Second)
	if got, _ := h.logIn(url.Values{"token": {"wrong"}}); got.StatusCode != 401 {
		t.Errorf("answered %d", got.StatusCode)
	}
	if got, _ := h.logIn(url.Values{"token": {text}}); got.Header.Get("Retry-After") != "2" {
		t.Errorf("again after %q", got.Header.Get("Retry-After"))
	}
	h.advance(2 * time.Second)
	if got, _ := h.logIn(url.Values{"token": {text}}); got.StatusCode != 303 {
		t.Errorf("answered %d", got.StatusCode)
	}
}

// R4: who is nobody comes in nowhere but to what is public; anonymous viewers only if asked.
func TestR4NobodyComesIn(t *testing.T) {
	h := onSQLite(t, nil)
	for _, path := range []string{"/v1/tasks", "/v1", "/openapi.json"} {
		h.expect(401, "GET", path, "")
	}
	h.expect(401, "POST", "/plans", "")
	h.expect(401, "GET", "/live", "", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Site", "same-origin")
	h.expect(303, "GET", "/static", "")
	h.expect(303, "GET", "/healthz/../plans", "")
	h.expect(200, "GET", "/healthz", "")
	h.expect(200, "GET", "/static/a.css", "")
	open := onSQLite(t, func(s *entrance.Settings) { s.Anonymous = access.Viewer })
	if got := open.expect(200, "GET", "/", ""); !strings.HasPrefix(got.text, "api:anonymous viewer") {
		t.Errorf("came in as %q", got.text)
	}
	open.expect(403, "GET", "/v1/admin", "")
	open.expect(401, "GET", "/", "", "Authorization", "Bearer wrong")
}

// R7: what a page of another origin makes a browser send is refused, also of another port
// of this machine; a cookie does not count where a token is brought; no change by GET.
func TestA28R7OtherOriginsAreRefused(t *testing.T) {
	h := onSQLite(t, nil)
	text := h.token("jane", access.Operator, time.Hour)
	_, c := h.logIn(url.Values{"token": {text}})
	cookie := c.Name + "=" + c.Value
	for name, headers := range map[string][]string{
		"cross-site":     {"Sec-Fetch-Site", "cross-site"},
		"another port":   {"Sec-Fetch-Site", "same-site"},
		"old browser":    {"Origin", "https://evil.example"},
		"no origin":      {"Origin", "null"},
		"a sandbox":      {"Origin", "null", "Sec-Fetch-Site", "cross-site"},
		"two answers":    {"Origin", "http://localhost:3000", "Sec-Fetch-Site", "same-origin"},
		"another origin": {"Origin", "http://localhost:3000"},
	} {
		t.Run(name, func(*testing.T) {
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
				h.expect(403, method, "/plans", "", append(headers, "Cookie", cookie)...)
			}
			h.expect(403, "POST", "/logout", "", append(headers, "Cookie", cookie)...)
			h.expect(403, "POST", "/login", url.Values{"token": {text}}.Encode(), append(headers, "Content-Type", form)...) // login CSRF
			h.expect(403, "GET", "/v1/live", "", append(headers, "Cookie", cookie, "Accept", "text/event-stream")...)
		})
	}
	foreign := []string{"Cookie", cookie, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"} // a form of another site
	h.expect(403, "POST", "/plans", "", foreign...)
	h.expect(403, "POST", "/plans", "", "Authorization", "Bearer "+text, "Sec-Fetch-Site", "cross-site")
	own := h.server.URL
	h.expect(200, "POST", "/plans", "", "Cookie", cookie, "Origin", own)
	h.expect(200, "POST", "/plans", "", "Cookie", cookie, "Sec-Fetch-Site", "same-origin")
	h.expect(200, "POST", "/plans", "", "Cookie", cookie, "Origin", "null", "Sec-Fetch-Site", "same-origin") // a form of ours, in Chromium
	h.expect(200, "POST", "/plans", "", "Cookie", cookie)                                                    // no browser
	h.expect(200, "GET", "/", "", "Cookie", cookie, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	h.expect(401, "POST", "/plans", "", "Cookie", cookie, "Authorization", "Bearer wrong")
	if got := h.expect(405, "GET", "/logout", "", "Cookie", cookie); len(got.Cookies()) > 0 {
		t.Error("a GET logs out")
	}
	h.expect(415, "POST", "/login", `{"token":"x"}`, "Content-Type", "text/plain")
	if got := h.expect(200, "GET", "/v1/tasks", "", "Authorization", "Bearer "+text, "Origin", own); got.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("other origins may read")
	}
	arrive := h.expect(200, "GET", "/plans/7", "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate")
	if !strings.Contains(arrive.text, `content="0;url=/plans/7"`) {
		t.Errorf("a link of another site leads to\n%s", arrive.text)
	}
}

// R8: every answer says what a browser may do with it, refusals and pages too; what is
// brought is shown as text.
func TestR8HeadersOnEveryAnswer(t *testing.T) {
	h := onSQLite(t, nil)
	want := map[string]string{
		"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-store",
	}
	for _, got := range []reply{h.ask("GET", "/healthz", ""), h.ask("GET", "/login", ""), h.ask("GET", "/v1/x", ""), h.ask("GET", "/", "", "Host", "evil.example"), h.ask("GET", "/", "")} {
		for name, value := range want {
			if got.Header.Get(name) != value {
				t.Errorf("%s: %s is %q", got.Request.URL, name, got.Header.Get(name))
			}
		}
	}
	for _, next := range []string{`"><script>alert(1)</script>`, "//evil.example", "https://evil.example/", `/\evil.example`, "javascript:alert(1)", "/\t/evil.example", "evil"} {
		got := h.expect(200, "GET", "/login?next="+url.QueryEscape(next), "")
		if !strings.Contains(got.text, `name="next" value="/"`) {
			t.Errorf("%q: goes on to elsewhere\n%s", next, got.text)
		}
	}
	got := h.expect(200, "GET", "/login?code="+url.QueryEscape(`"><script>alert(1)</script>`), "")
	if strings.Contains(got.text, "<script") || strings.Contains(got.text, "style=") {
		t.Errorf("%s", got.text)
	}
}

// R10: bodies, headers and rates are bounded, and who sends headers slowly is cut off.
func TestA32R10Limits(t *testing.T) {
	h := onSQLite(t, func(s *entrance.Settings) { s.PerSecond = 10 })
	text := "Bearer " + h.token("ci", access.Operator, time.Hour)
	h.expect(200, "POST", "/v1/x", strings.Repeat("x", 1<<20), "Authorization", text)
	h.expect(413, "POST", "/v1/x", strings.Repeat("x", 1<<20+1), "Authorization", text)
	h.expect(413, "POST", "/login", "token="+strings.Repeat("x", 1<<20), "Content-Type", form)
	for _, size := range []int{16 << 10, 64 << 10} {
		if got := h.ask("GET", "/v1/x", "", "X-Long", strings.Repeat("x", size)); got.StatusCode != 431 {
			t.Errorf("headers of %d bytes are answered %d", size, got.StatusCode)
		}
	}
	for range 18 {
		h.expect(200, "GET", "/v1/x", "", "Authorization", text)
	}
	if got := h.expect(429, "GET", "/v1/x", "", "Authorization", text); got.Header.Get("Retry-After") != "1" || problemOf(h, got).Code != "TOO_MANY_REQUESTS" {
		t.Errorf("%s %s", got.Header.Get("Retry-After"), got.text)
	}
	h.expect(200, "GET", "/healthz", "") // others are not kept out
	h.advance(time.Second)
	h.expect(200, "GET", "/v1/x", "", "Authorization", text)
	s := entrance.NewServer(h.handler, newLog(h))
	if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > 10*time.Second || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("time is not bounded: %+v", s)
	}
}

// R10, slowloris: a client that never ends its headers is cut off.
func TestA32R10SlowHeadersAreCutOff(t *testing.T) {
	h := onSQLite(t, nil)
	h.server.Close()
	server := entrance.NewServer(h.handler, newLog(h))
	server.ReadHeaderTimeout = 50 * time.Millisecond
	h.server = httptest.NewUnstartedServer(nil)
	h.server.Config = server
	h.server.Start()
	t.Cleanup(h.server.Close)
	conn := h.dial()
	if _, err := fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow:"); err != nil {
		t.Fatal(err)
	}
	if got, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
		defer got.Body.Close()
		if got.StatusCode < 400 {
			t.Errorf("answered %d", got.StatusCode)
		}
	} // it returns at all: the server closed the connection
}

func problemOf(h *house, got reply) (p entrance.Problem) {
	h.Helper()
	if kind := got.Header.Get("Content-Type"); kind != "application/problem+json" {
		h.Errorf("it is %s", kind)
	}
	if err := json.Unmarshal([]byte(got.text), &p); err != nil {
		h.Errorf("%s: %v", got.text, err)
	}
	return p
}

// R12: an error has one form, a number that the log has too, and nothing of what broke.
func TestR12ErrorsTellNothingInside(t *testing.T) {
	h := onSQLite(t, nil)
	text := "Bearer " + h.token("ci", access.Viewer, time.Hour)
	got := h.expect(500, "GET", "/v1/broken", "", "Authorization", text)
	p := problemOf(h, got)
	if p.Status != 500 || p.Code != "INTERNAL" || p.Request == "" || p.Request != got.Header.Get("X-Request-Id") || strings.Contains(got.text, "canary") || strings.Contains(got.text, ".go") {
		t.Errorf("%s", got.text)
	}
	if !strings.Contains(h.logged(), p.Request) || !strings.Contains(h.logged(), "canary") {
		t.Errorf("the log does not say why: %s", h.logged())
	}
	if p := problemOf(h, h.expect(403, "GET", "/v1/admin", "", "Authorization", text)); p.Code != "ROLE_NEEDED" || !strings.Contains(p.Next, "--role admin") {
		t.Errorf("%+v", p)
	}
	if page := h.expect(421, "GET", "/", "", "Host", "evil.example"); !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") {
		t.Errorf("a browser gets %s", page.Header.Get("Content-Type"))
	}
}

// R13: logins, logouts and refusals are in the audit log; a flood of them is a few rows.
func TestR13RefusalsAreAudited(t *testing.T) {
	forEachDatabase(t, func(s *entrance.Settings) { s.PerSecond = 1e6 }, func(h *house) {
		text := h.token("jane", access.Viewer, time.Hour)
		_, c := h.logIn(url.Values{"token": {text}})
		h.expect(303, "POST", "/logout", "", "Cookie", c.Name+"="+c.Value)
		for range 3 {
			h.expect(403, "GET", "/v1/admin", "", "Authorization", "Bearer "+text)
		}
		h.expect(404, "GET", "/v1/hidden", "", "Authorization", "Bearer "+text)
		h.logIn(url.Values{"token": {"wrong"}})
		for action, want := range map[string]int{"access.login": 1, "access.logout": 1, "access.refused": 3} {
			if rows := h.audited(action); len(rows) != want {
				h.Errorf("%s: %q", action, rows)
			}
		}
		all := strings.Join(h.audited("access.refused"), "\n")
		for _, part := range []string{"api:jane#1 GET /v1/admin", `"count":3`, "GET /v1/hidden another source", "address:127.0.0.1 POST /login login with a wrong token"} {
			if !strings.Contains(all, part) {
				h.Errorf("no %s in\n%s", part, all)
			}
		}
		h.advance(time.Minute)
		for i := range 500 {
			h.ask("GET", fmt.Sprintf("/v1/guess%d/x", i), "")
		}
		rows := h.audited("access.refused")
		if len(rows) > 3+21 || !strings.Contains(strings.Join(rows, "\n"), `"count":480`) {
			h.Errorf("%d rows\n%s", len(rows), strings.Join(rows, "\n"))
		}
	})
}

// R14: what proxies say is believed of the named ones only, and the last of what they say.
func TestR14OnlyNamedProxiesAreBelieved(t *testing.T) {
	h := onSQLite(t, nil)
	text := "Bearer " + h.token("ci", access.Viewer, time.Hour)
	forged := []string{"Authorization", text, "X-Forwarded-For", "192.0.2.7", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example"}
	if got := h.expect(200, "GET", "/", "", forged...); !strings.HasSuffix(got.text, "from 127.0.0.1") {
		t.Errorf("%s", got.text)
	}
	behind := onSQLite(t, func(s *entrance.Settings) {
		s.Proxies, s.Hosts = prefixes("127.0.0.1/32", "10.0.0.0/8"), append(s.Hosts, "patra.example.org")
	})
	text = "Bearer " + behind.token("ci", access.Viewer, time.Hour)
	got := behind.expect(200, "GET", "/", "", "Authorization", text, "X-Forwarded-For", "198.51.100.1, 192.0.2.7, 10.0.0.9", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "patra.example.org")
	if !strings.HasSuffix(got.text, "from 192.0.2.7") {
		t.Errorf("%s", got.text)
	}
	behind.expect(421, "GET", "/", "", "Authorization", text, "X-Forwarded-For", "192.0.2.7", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example")
	other := onSQLite(t, func(s *entrance.Settings) { s.Proxies = prefixes("10.0.0.0/8") })
	r := httptest.NewRequest("GET", "http://localhost/healthz", nil)
	r.RemoteAddr = "192.0.2.50:1234"
	w := httptest.NewRecorder()
	other.handler.ServeHTTP(w, r)
	if w.Code != 403 {
		t.Errorf("a plain request beside the proxy is answered %d", w.Code)
	}
	r.RemoteAddr = "10.0.0.5:1234"
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	w = httptest.NewRecorder()
	other.handler.ServeHTTP(w, r)
	if w.Code != 403 {
		t.Errorf("a request that was plain before the proxy is answered %d", w.Code)
	}
}
