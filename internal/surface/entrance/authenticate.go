package entrance

import (
	"context"
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
		hash := access.HashText(cookie.Value)
		s, err := e.settings.Keys.UsableSession(r.Context(), hash)
		switch {
		case err == nil:
			v.caller, v.hash = s.Caller(), hash
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
	hash := access.HashText(text)
	k, err := e.settings.Keys.UsableToken(r.Context(), hash)
	switch {
	case err == nil:
		v.caller, v.hash = k.Caller(), hash
		e.clerk.noteUse(k.ID, 0)
		return nil
	case !errors.Is(err, fault.ErrNotFound):
		return e.unreadable(r, err)
	}
	if wait := e.failures.fail(v.address, e.settings.Now()); wait > 0 {
		return refuse(http.StatusTooManyRequests, "TOO_MANY_FAILURES", unknownToken, "wait, then bring another access token").after(wait)
	}
	return refuse(http.StatusUnauthorized, "TOKEN_UNKNOWN", unknownToken, "make one with: patra token create NAME --role viewer")
}

// Recheck tells whether who asked would still be let in, for answers that last: a stream must
// not outlive its token. If not it is fault.ErrNotFound. A stream counts as use, as its
// requests would.
func Recheck(ctx context.Context) error {
	v := visitOf(ctx)
	switch {
	case v.caller.Role == "":
		return fault.ErrNotFound
	case v.hash == "":
		return nil // anonymous: there is nothing that could end
	case v.caller.Session != 0:
		if _, err := v.entrance.settings.Keys.UsableSession(ctx, v.hash); err != nil {
			return err
		}
	default:
		if _, err := v.entrance.settings.Keys.UsableToken(ctx, v.hash); err != nil {
			return err
		}
	}
	v.entrance.clerk.noteUse(v.caller.TokenID, v.caller.Session)
	return nil
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
