// Package until ends a long reading when nobody waits for it any more: the files that
// drivers read to their end may be many gigabytes.
//
// It never reads on once its context has ended, and never changes what is read.
package until

import (
	"context"
	"io"
)

// Done reads from a reader until a context is done, and gives the context's error then.
func Done(ctx context.Context, from io.Reader) io.Reader { return reader{ctx, from} }

type reader struct {
	ctx  context.Context
	from io.Reader
}

func (r reader) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(into)
}
