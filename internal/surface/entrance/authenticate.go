package entrance

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// Unknown is what who brings a wrong token hears, whatever is wrong with it.
const unknownToken = "this access token is not known, has expired or was revoked"

// authenticate finds out who asks. A token counts alone: whoever brings one is not let in
// by the cookie of a browser (R7).
func (e *Entrance) authenticate(r *http.Request, v *visit) *refusal {
	if given := r.Header.Values("Authorization"); len(given) > 0 {
		v.bearer = true
		return e.checkBearer(r, v, given)
	}
	if cookie, err := r.Cookie(e.cookieName(v.secure)); err == nil {
		s, err := e.settings.Keys.UsableSession(r.Context(), access.HashText(cookie.Value))
		switch {
		case err == nil:
			v.caller = s.Caller()
			e.clerk.noteUse(s.Token.ID, s.ID)
			return nil
		case !errors.Is(err, fault.ErrNotFound):
			return e.unreadable(r, err)
		}
	}
	if e.settings.Anonymous != "" {
		v.caller = access.Caller{Name: "anonymous", Role: e.settings.Anonymous}
	}
	return nil
}

// checkBearer looks a token up. Every failure costs a lookup and says the same, so that
// neither tells what was wrong (R3).
func (e *Entrance) checkBearer(r *http.Request, v *visit, given []string) *refusal {
	kind, text, _ := strings.Cut(given[0], " ")
	if len(given) > 1 || !strings.EqualFold(kind, "Bearer") {
		text = ""
	}
	k, err := e.settings.Keys.UsableToken(r.Context(), access.HashText(text))
	switch {
	case err == nil:
		v.caller = k.Caller()
		e.clerk.noteUse(k.ID, 0)
		return nil
	case !errors.Is(err, fault.ErrNotFound):
		return e.unreadable(r, err)
	}
	if wait := e.failures.fail(v.address, e.settings.Now()); wait > 0 {
		return refuse(http.StatusTooManyRequests, "TOO_MANY_FAILURES", unknownToken, "wait, then bring another one").after(wait)
	}
	return refuse(http.StatusUnauthorized, "TOKEN_UNKNOWN", unknownToken, "make one with: patra token create NAME --role viewer")
}

// checkOrigin refuses what a page of another origin makes a browser send (R7): changes
// always, and with the cookie of a session also reads that are no navigation, such as a
// stream of events.
func (e *Entrance) checkOrigin(r *http.Request, v *visit) *refusal {
	foreign := refuse(http.StatusForbidden, "CROSS_ORIGIN", "a page of another origin made the browser send this", "act on a page of the dashboard, or bring an access token")
	if e.guard.Check(r) != nil {
		return foreign
	}
	if v.bearer {
		return nil
	}
	if origin := r.Header.Get("Origin"); origin != "" && !sameHost(origin, r.Host) && !hidesOwnOrigin(r) {
		return foreign
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			return foreign
		}
	}
	return nil
}

// hidesOwnOrigin reports whether a browser sends a form of our own pages without naming them:
// pages that have no referrer (R8) have the origin null as well. That it comes from the same
// origin stands in Sec-Fetch-Site, which no page can write.
func hidesOwnOrigin(r *http.Request) bool {
	return r.Header.Get("Origin") == "null" && r.Header.Get("Sec-Fetch-Site") == "same-origin"
}

func sameHost(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, host)
}

// unreadable is that the database did not answer. The log says why.
func (e *Entrance) unreadable(r *http.Request, err error) *refusal {
	if r.Context().Err() == nil {
		e.settings.Log.Warn("who asks could not be looked up", "request", RequestID(r.Context()), "error", err)
	}
	return refuse(http.StatusServiceUnavailable, "UNAVAILABLE", "the database does not answer now", "try again; patra status says more")
}
