package webui

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/window"
)

// ask is one request for a page, with who asks and the time by the clock of the store.
type ask struct {
	*http.Request
	site   *site
	Caller access.Caller
	Now    time.Time
}

// readForm reads what was sent, so that a form which is cut off is not taken for an empty one.
func (a *ask) readForm() error {
	err := a.ParseForm()
	var large *http.MaxBytesError
	switch {
	case a.Method != http.MethodPost || err == nil:
		return nil
	case errors.As(err, &large):
		return fmt.Errorf("%w: nothing was done", errTooLarge)
	}
	return fmt.Errorf("%w: the form cannot be read: nothing was done", fault.ErrInvalid)
}

// errTooLarge is a form that has more than the entrance takes.
var errTooLarge = errors.New("more than 1 MB was sent")

// source returns the source that a path names, if the caller may know of it: another one
// answers as if it did not exist (R4).
func (a *ask) source() (string, error) {
	code := a.PathValue("source")
	if !a.Caller.Sees(code) {
		return "", unseen("source", strconv.Quote(code))
	}
	return code, nil
}

// rehearsal is what a preview is made under: nothing of it is stored.
func (a *ask) rehearsal() ingest.Act { return ingest.Act{Actor: a.Caller.Actor(), Rehearsal: true} }

// readBy signs what changes nothing and is audited all the same: nobody is asked for a reason,
// so the name of the request stands in its place (R13).
func (a *ask) readBy() ingest.Act {
	return ingest.Act{Actor: a.Caller.Actor(), Reason: "request " + a.site.requestID(a.Context())}
}

// mostReason bounds what is written to the audit log.
const mostReason = 500

// reason reads why somebody acts.
func (a *ask) reason() string {
	text := []rune(strings.TrimSpace(a.PostFormValue("reason")))
	return string(text[:min(len(text), mostReason)])
}

// instant reads an instant of the query, as the command line takes it; false where it is
// not named.
func (a *ask) instant(name string) (time.Time, bool, error) {
	text := a.FormValue(name)
	if text == "" {
		return time.Time{}, false, nil
	}
	if stretch, before := strings.CutPrefix(text, "-"); before {
		d, err := duration.Parse(stretch)
		if err != nil {
			return time.Time{}, false, fmt.Errorf("%w: %s: %w", fault.ErrInvalid, name, err)
		}
		return window.Instant(a.Now.Add(-d.Std())), true, nil
	}
	at, err := window.ParseInstant(text)
	if err != nil {
		return at, false, fmt.Errorf("%w: %s: %w, or a time before now such as -90d", fault.ErrInvalid, name, err)
	}
	return at, true, nil
}

// with returns the address of this page with some parameters set; an empty value takes one away.
func (a *ask) with(pairs ...string) string {
	q := a.URL.Query()
	for i := 0; i+1 < len(pairs); i += 2 {
		if q.Del(pairs[i]); pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return (&url.URL{Path: a.URL.Path, RawQuery: q.Encode()}).String()
}

// ownPath returns a path of this site, or the overview where text names another one: a form
// must not lead away.
func ownPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\r\n") {
		return "/"
	}
	return text
}
