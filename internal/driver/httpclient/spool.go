package httpclient

import (
	"context"
	"io"
	"net/http"

	"github.com/patra-ingest/patra/internal/core/exchange"
)

// spoolBytes is how much of a file is taken from the wire at once.
const spoolBytes = 256 << 10

// spoolAnswer hands the body of an answer on as it is sent, byte by byte: a file may be packed,
// and is unpacked by whoever reads it. What came before an error has been handed on: the next
// request may go on behind it.
func (w *watch) spoolAnswer(ctx context.Context, answer *http.Response, header exchange.Header, to exchange.Spool) (*exchange.Response, error) {
	limit := w.limits.MaxBodyBytes
	if answer.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if err := to.Begin(answer.StatusCode, header, answer.ContentLength); err != nil {
		return nil, err
	}
	in := &wire{body: answer.Body, watch: w, limit: limit}
	buffer := make([]byte, spoolBytes)
	for {
		n, err := in.Read(buffer)
		if n > 0 {
			if _, failed := to.Write(buffer[:n]); failed != nil {
				return nil, failed
			}
		}
		if err == io.EOF {
			return &exchange.Response{Status: answer.StatusCode, Header: header, OpenEnded: openEnded(answer), WireBytes: in.n}, nil
		}
		if err != nil {
			return nil, w.classifyError(ctx, err)
		}
	}
}
