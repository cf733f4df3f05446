package httpclient

import (
	"context"
	"net/http"
	"strings"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
)

// maxHeaderFields bounds what every answer costs beyond its bytes.
const maxHeaderFields = 256

// readAnswer takes the whole answer. The status of a refusal counts even if its page
// cannot be read: a broken 429 still asks us to wait (I11).
func (w *watch) readAnswer(ctx context.Context, answer *http.Response, r *exchange.Request) (*exchange.Response, error) {
	header, err := headerOf(answer.Header)
	if err != nil {
		return nil, err
	}
	if err := refuseOddStatus(answer, r.Spool != nil); err != nil {
		return nil, err
	}
	if status := answer.StatusCode; r.Spool != nil && (status == http.StatusOK || status == http.StatusPartialContent) {
		return w.spoolAnswer(ctx, answer, header, r.Spool)
	}
	limit := w.limits.MaxBodyBytes
	in := &wire{body: answer.Body, watch: w, limit: limit + limit/64 + 4096} // what cannot be packed grows a little
	var body []byte
	if answer.ContentLength > in.limit {
		err = tooLarge(limit)
	} else if body, err = decodeBody(in, answer.Header["Content-Encoding"], &intake{limit: limit, hint: announcedLength(answer), claim: w.claimOf(ctx, r.Room)}); err != nil {
		err = w.classifyError(ctx, err)
	}
	if err != nil && answer.StatusCode < 300 {
		return nil, err
	}
	return &exchange.Response{Status: answer.StatusCode, Header: header, Body: body, OpenEnded: openEnded(answer), WireBytes: in.n}, nil
}

// announcedLength returns how many bytes a body says that it has once it is decoded; -1 where
// that cannot be known.
func announcedLength(answer *http.Response) int64 {
	if len(answer.Header["Content-Encoding"]) > 0 {
		return -1
	}
	return answer.ContentLength
}

// openEnded reports whether a body ends with its connection, as HTTP/1 allows: a cut then
// looks like the end (F26).
func openEnded(answer *http.Response) bool {
	return !isFramed(answer) && answer.ContentLength < 0 && len(answer.TransferEncoding) == 0
}

// isFramed reports HTTP/2, which the connection agreed on. An answer may claim any
// version.
func isFramed(answer *http.Response) bool {
	return answer.TLS != nil && answer.TLS.NegotiatedProtocol == "h2"
}

// refuseOddStatus refuses answers that are not whole by their own words (F27).
func refuseOddStatus(answer *http.Response, parts bool) error {
	switch status := answer.StatusCode; {
	case answer.ProtoMajor != 1 && !isFramed(answer):
		return fault.Newf(fault.Network, "the answer claims to be HTTP/%d.%d", answer.ProtoMajor, answer.ProtoMinor)
	case status < 200:
		return fault.Newf(fault.Network, "the answer has the status %d, which announces another that did not come", status)
	case status == http.StatusPartialContent && parts && answer.Request.Header.Get("Range") != "":
	case status == http.StatusPartialContent, status == http.StatusIMUsed:
		return fault.Newf(fault.BadBody, "the answer (HTTP %d) is a part of a document, and the whole was asked for", status)
	case status == http.StatusNoContent || status == http.StatusResetContent:
		if length := answer.Header.Get("Content-Length"); length != "" && length != "0" || len(answer.TransferEncoding) > 0 {
			return fault.Newf(fault.Network, "the answer (HTTP %d) says that it has no body, and announces one", status)
		}
	}
	return nil
}

// headerOf returns the header of an answer. net/http has refused control characters;
// other bytes may still be no text, which could not be stored.
func headerOf(from http.Header) (exchange.Header, error) {
	out, fields := make(exchange.Header, len(from)), 0
	for name, values := range from {
		if fields += len(values); fields > maxHeaderFields {
			return nil, fault.Newf(fault.TooLarge, "the answer has more than %d header fields", maxHeaderFields)
		}
		for _, value := range values {
			out[name] = append(out[name], strings.ToValidUTF8(value, "\ufffd"))
		}
	}
	return out, nil
}
