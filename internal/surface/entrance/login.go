package entrance

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// links are the codes of one-time login links, by their hashes. They live in this process
// only: who restarts it gets a new one.
type links struct {
	mu    sync.Mutex
	valid map[string]time.Time // until when
}

// LinkLasts is how long a one-time login link can be used.
const LinkLasts = 15 * time.Minute

func newLinks() *links { return &links{valid: map[string]time.Time{}} }

// IssueLink makes a one-time login link and returns its path. Whoever has it is admin once.
func (e *Entrance) IssueLink() string {
	code := randomText()
	e.links.mu.Lock()
	defer e.links.mu.Unlock()
	e.links.valid[access.HashText(code)] = e.settings.Now().Add(LinkLasts)
	return "/login?code=" + code
}

// use takes a code, which is then used up.
func (l *links) use(code string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	hash := access.HashText(code)
	until, known := l.valid[hash]
	delete(l.valid, hash)
	return known && now.Before(until)
}

func randomText() string {
	var b [access.SecretBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// showLogin asks for a token. A one-time link only fills the form: what changes something
// is the button, so that a preview of the link does not use it up (R7).
func (e *Entrance) showLogin(w http.ResponseWriter, r *http.Request) {
	v, q := visitOf(r.Context()), r.URL.Query()
	writePage(w, http.StatusOK, page{Kind: "login", Title: "Log in", Code: q.Get("code"), Target: ownPath(cmp.Or(q.Get("next"), "/")), Caller: v.caller.Name, Session: v.caller.Session != 0})
}

// logIn exchanges a token or the code of a link for a session. Whatever is wrong with it,
// the answer is the same (R3).
func (e *Entrance) logIn(w http.ResponseWriter, r *http.Request) {
	v, now := visitOf(r.Context()), e.settings.Now()
	if v.bearer {
		refuse(http.StatusBadRequest, "BEARER_AND_LOGIN", "a program that brings an access token needs no login", "leave out Authorization, or ask /v1 with it").write(w, r)
		return
	}
	if kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "application/x-www-form-urlencoded" {
		refuse(http.StatusUnsupportedMediaType, "NOT_A_FORM", "the login takes a form", "open /login in a browser; programs bring an access token instead").write(w, r)
		return
	}
	if wait := e.failures.wait(v.address, now); wait > 0 {
		refuse(http.StatusTooManyRequests, "TOO_MANY_FAILURES", "too many attempts failed from this address", "wait, then try again").after(wait).write(w, r)
		return
	}
	if err := r.ParseForm(); err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			refuse(http.StatusRequestEntityTooLarge, "TOO_LARGE", "the form is too large", "send the token alone").write(w, r)
			return
		}
		refuse(http.StatusBadRequest, "NOT_A_FORM", "the form cannot be read", "open /login in a browser").write(w, r)
		return
	}
	target := ownPath(cmp.Or(r.PostForm.Get("next"), "/"))
	token, err := e.exchange(r, now)
	if err == nil {
		err = e.openSession(w, r, token)
	}
	switch {
	case err == nil:
		e.failures.succeed(v.address)
		http.Redirect(w, r, target, http.StatusSeeOther)
	case !errors.Is(err, fault.ErrNotFound):
		e.unreadable(r, err).write(w, r)
	default:
		e.failures.fail(v.address, now)
		v.why = "login with a wrong token or link"
		writePage(w, http.StatusUnauthorized, page{Kind: "login", Title: "Log in", Text: "This access token or link is not known, has expired, was revoked or was used.", Target: target, Request: v.id})
	}
}

// exchange finds the token that somebody logs in with. Both ways are always tried.
func (e *Entrance) exchange(r *http.Request, now time.Time) (access.Token, error) {
	linked := e.links.use(r.PostForm.Get("code"), now)
	token, err := e.settings.Keys.UsableToken(r.Context(), access.HashText(strings.TrimSpace(r.PostForm.Get("token"))))
	if linked {
		return e.settings.Sessions.LinkToken(r.Context(), visitOf(r.Context()).address)
	}
	return token, err
}

// openSession begins a session under a new id, whatever the browser had before.
func (e *Entrance) openSession(w http.ResponseWriter, r *http.Request, token access.Token) error {
	v, text := visitOf(r.Context()), randomText()
	s, err := e.settings.Sessions.OpenSession(r.Context(), access.Opening{Hash: access.HashText(text), TokenID: token.ID, Address: v.address, Replaces: v.caller.Session})
	if err != nil {
		return err
	}
	e.clerk.noteUse(token.ID, 0)
	v.caller = s.Caller()
	http.SetCookie(w, e.cookie(v.secure, text, int(access.SessionTotal.Seconds())))
	return nil
}

// logOut ends the session of the browser.
func (e *Entrance) logOut(w http.ResponseWriter, r *http.Request) {
	v := visitOf(r.Context())
	if v.caller.Session != 0 {
		if err := e.settings.Sessions.EndSession(r.Context(), v.caller.Session, v.caller.Actor()); err != nil {
			e.unreadable(r, err).write(w, r)
			return
		}
	}
	http.SetCookie(w, e.cookie(v.secure, "", -1))
	http.Redirect(w, r, "/login", http.StatusSeeOther)
}

// cookieName binds the cookie to this host where the connection is encrypted. Without, a
// browser refuses such a name, and ports of one machine share their cookies.
func (e *Entrance) cookieName(secure bool) string {
	if secure {
		return "__Host-patra"
	}
	return "patra" + e.settings.CookieMark
}

func (e *Entrance) cookie(secure bool, value string, age int) *http.Cookie {
	return &http.Cookie{Name: e.cookieName(secure), Value: value, Path: "/", MaxAge: age, HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode}
}
