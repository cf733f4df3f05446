package httpclient

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// classify names what ended a request. What reached nobody may be sent again
// whatever its token.
func (w *watch) classify(ctx context.Context, err error) error {
	var f *fault.Error
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &f): // one of our limits
	case errors.As(err, &f): // a rule of ours
	default:
		f = fault.New(fault.Network, bare(err))
	}
	out := *f
	out.Unsent = !w.wasSent()
	return &out
}

// bare is an error without what others wrote into it: the URL that *url.Error
// prints, whose query may hold a key, and the words of an upstream that net/http
// quotes, which may repeat one (I12).
func bare(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	if before, _, quotes := strings.Cut(err.Error(), `"`); quotes {
		return errors.New(strings.TrimRight(before, " :") + " …")
	}
	return err
}
