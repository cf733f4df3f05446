package upsim

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// visit is one request on its way through the server.
type visit struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	entry Entry
	gone  bool
}

func (s *Server) beginVisit(w http.ResponseWriter, r *http.Request) *visit {
	n, inFlight := s.ledger.noteArrival()
	e := Entry{N: n, At: time.Now(), Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Header: http.Header{}, InFlight: inFlight}
	for _, name := range loggedHeaders() {
		if given := r.Header.Values(name); given != nil {
			e.Header[name] = given
		}
	}
	return &visit{s: s, w: w, r: r, entry: e}
}

// endVisit ends the visit in the books, once. It comes before the last byte of the
// answer: when the client knows, the log knows.
func (v *visit) endVisit(status, items int) {
	if v.gone {
		return
	}
	v.gone = true
	v.entry.Status, v.entry.Items = status, items
	v.s.ledger.noteLeave(v.entry)
}

func (v *visit) deliverAnswer(a answer, kind FaultKind) {
	if kind == FaultBrokenJSON {
		a.body = a.body[:len(a.body)/2]
	}
	body, zipped := a.body, false
	if a.kind == typeJSON && kind != FaultTruncateJSON && kind != FaultLostAnswer && v.wantsGzip() {
		packed := v.s.compressBody(a.body)
		defer v.s.packed.Put(packed)
		body, zipped = packed.Bytes(), true
	}
	header := v.answerHeader(a, zipped)
	switch kind {
	case FaultLostAnswer:
		v.endVisit(0, a.items)
		v.hijackConnection().Close()
	case FaultReset:
		header.Set("Content-Length", strconv.Itoa(len(body)))
		v.breakOff(a, header, body, true)
	case FaultTruncateGzip, FaultTruncateJSON:
		header.Set("Connection", "close") // the end of the connection ends the body
		v.breakOff(a, header, body, false)
	default:
		header.Set("Content-Length", strconv.Itoa(len(body)))
		v.sendAnswer(a, header, body)
	}
}

func (v *visit) wantsGzip() bool {
	if v.s.opts.DisableGzip {
		return false
	}
	for coding := range strings.SplitSeq(v.r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.ReplaceAll(coding, " ", ""), ";")
		if strings.EqualFold(name, "gzip") {
			return quality != "q=0"
		}
	}
	return false
}

func (s *Server) compressBody(body []byte) *bytes.Buffer {
	out := s.packed.Get().(*bytes.Buffer)
	out.Reset()
	z := s.zippers.Get().(*gzip.Writer)
	defer s.zippers.Put(z)
	z.Reset(out)
	_, _ = z.Write(body) // a bytes.Buffer takes everything
	_ = z.Close()
	return out
}

func (v *visit) answerHeader(a answer, zipped bool) http.Header {
	h := http.Header{"Content-Type": {a.kind}}
	maps.Copy(h, a.extra)
	if zipped {
		h.Set("Content-Encoding", "gzip")
	}
	if a.retryAfter != "" {
		h.Set("Retry-After", a.retryAfter)
	}
	if a.announced {
		v.announceLimits(h)
	}
	return h
}

// announceLimits tells the caller its limits. A contact address, in the query or in
// the User-Agent, makes it polite.
func (v *visit) announceLimits(h http.Header) {
	name, pool := "public", v.s.opts.Public
	if v.entry.Query.Get("mailto") != "" || strings.Contains(v.r.UserAgent(), "mailto:") {
		name, pool = "polite", v.s.opts.Polite
	}
	h.Set("X-Api-Pool", name)
	h.Set("X-Rate-Limit-Limit", strconv.Itoa(pool.Rate))
	h.Set("X-Rate-Limit-Interval", strconv.FormatFloat(pool.Interval.Seconds(), 'f', -1, 64)+"s")
	h.Set("X-Concurrency-Limit", strconv.Itoa(pool.Concurrency))
}

// sendAnswer writes a whole answer.
func (v *visit) sendAnswer(a answer, header http.Header, body []byte) {
	maps.Copy(v.w.Header(), header)
	v.w.WriteHeader(a.status)
	if len(body) == 0 {
		v.endVisit(a.status, a.items)
		return
	}
	last := len(body) - 1
	if _, err := v.w.Write(body[:last]); err != nil {
		v.endVisit(statusClientGone, a.items)
		return
	}
	v.endVisit(a.status, a.items)
	_, _ = v.w.Write(body[last:])
}

// breakOff writes the head and half of the body, then ends the connection.
func (v *visit) breakOff(a answer, header http.Header, body []byte, reset bool) {
	conn := v.hijackConnection()
	defer conn.Close()
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	_ = header.Write(&head)
	head.WriteString("\r\n")
	head.Write(body[:len(body)/2])
	_, _ = conn.Write(head.Bytes()) // a client that is gone already is broken off too
	v.endVisit(a.status, a.items)
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0) // closing sends RST instead of FIN
	}
}

// hijackConnection takes the connection over. Where that cannot be done, the server is
// told to drop it: the client sees a broken answer just the same.
func (v *visit) hijackConnection() net.Conn {
	conn, _, err := http.NewResponseController(v.w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	return conn
}
