package upsim

import (
	"errors"
	"net/http"
	"strings"
	"time"
)

// statusClientGone is the customary number for "the client closed first".
const statusClientGone = 499

// request is an HTTP request as the routes need it.
type request struct {
	hit   Hit
	list  bool
	query listQuery
	err   error // why the list request is refused
	view  view  // of a request that does not continue a walk
	doi   string
	get   bool
	form  *formRequest // nil outside /forms/ and the doors
}

// ServeHTTP answers one request. On a connection that cannot be hijacked the
// faults that break it panic with http.ErrAbortHandler instead.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := s.welcome(w, r)
	defer v.leave(0, 0)
	req := s.read(r, v.entry)
	t := s.plot.decide(req.hit)
	v.entry.Fault, v.entry.Params = t.label, req.hit.Params
	if !pause(r.Context(), t.delay) {
		v.leave(statusClientGone, 0)
		return
	}
	a := s.answer(req, t.fault)
	defer s.release(a)
	v.deliver(a, t.fault.Kind)
}

func (s *Server) read(r *http.Request, e Entry) request {
	req := request{get: r.Method == http.MethodGet, hit: Hit{N: e.N, Path: e.Path, Query: e.Query}}
	if s.readForm(r, e, &req) {
		return req
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	if doi, ok := strings.CutPrefix(path, "/works/"); ok && doi != "" {
		req.doi = doi
		return req
	}
	if strings.TrimSuffix(path, "/") != "/works" {
		return req
	}
	req.list = true
	if req.query, req.err = parseList(e.Query); req.err == nil {
		s.foresee(&req)
	}
	return req
}

// foresee finds out what a sound answer would be, because faults depend on it.
func (s *Server) foresee(req *request) {
	q := req.query
	left := 0
	switch q.cursor {
	case "", "*":
		req.view = s.data.snapshot(q.first, q.last, q.order)
		left = req.view.total - q.offset
		if q.cursor == "*" {
			req.hit.Page = 1
		}
	default:
		req.hit.Page, left = s.walks.peek(q.cursor, time.Now())
	}
	req.hit.items = max(0, min(left, q.rows))
}

// answer is a whole response before it meets the wire.
type answer struct {
	status     int
	kind       string // content type
	retryAfter string
	announced  bool // with the headers of the rate pool
	body       []byte
	items      int
	pooled     *[]byte
	extra      http.Header // of this answer alone
}

func (s *Server) answer(req request, f Fault) answer {
	if !f.Kind.answersAlone() {
		return s.route(req, f)
	}
	if f.Advance {
		s.release(s.route(req, f))
	}
	if req.form != nil {
		return s.failForm(req, f)
	}
	return fail(f)
}

func (s *Server) route(req request, f Fault) answer {
	switch {
	case req.form != nil:
		return s.routeForm(req, f)
	case !req.get:
		return plain(http.StatusMethodNotAllowed, "Method not allowed.")
	case req.list:
		return s.works(req, f.Kind)
	case req.doi != "":
		return s.work(req)
	}
	return plain(http.StatusNotFound, "Resource not found.")
}

func (s *Server) works(req request, kind FaultKind) answer {
	var bad *refusal
	if errors.As(req.err, &bad) {
		return refuse(http.StatusBadRequest, "validation-failure", *bad)
	}
	q, now := req.query, time.Now()
	var p page
	switch q.cursor {
	case "":
		from := min(q.offset, req.view.total)
		p = page{view: req.view, span: span{from, min(from+q.rows, req.view.total)}}
	case "*":
		p = s.walks.start(req.view, q.rows, now)
	default:
		if kind == FaultExpireCursor {
			s.walks.forget(q.cursor, now)
		}
		s.shrink(q.cursor, now)
		var ok bool
		if p, ok = s.walks.resume(q.cursor, q.rows, kind == FaultDuplicatePage, now); !ok {
			return refuse(http.StatusNotFound, "resource-failure",
				refusal{"cursor-invalid", q.cursor, "The cursor is not valid or has expired."})
		}
	}
	return s.pageAnswer(req, p, kind)
}

func (s *Server) pageAnswer(req request, p page, kind FaultKind) answer {
	spoil := s.chooseVictim(req, p.span.len(), func(i int) item { return p.view.at(p.span.from + i) }, kind)
	buf := s.buffers.Get().(*[]byte)
	*buf = s.data.appendPage((*buf)[:0], req.query, p, spoil)
	return answer{status: http.StatusOK, kind: typeJSON, announced: true, body: *buf, items: p.span.len(), pooled: buf}
}

// victim is the one item of a page that a fault breaks.
type victim struct {
	at  int // position on the page; -1 for none
	bad string
}

// chooseVictim takes a sound work, because one that is broken anyway would
// prove nothing, and notes it for Altered.
func (s *Server) chooseVictim(req request, n int, at func(int) item, kind FaultKind) victim {
	none := victim{at: -1}
	if (kind != FaultMissingID && kind != FaultBadDate) || n == 0 {
		return none
	}
	draw := newStream(s.data.cfg.Seed, 'v', uint64(req.hit.N))
	first := draw.below(n)
	for i := range n {
		place := (first + i) % n
		it := at(place)
		if s.data.defect(it.seq) != Sound {
			continue
		}
		h := s.data.head(it)
		s.ledger.alter(Alteration{req.hit.N, h.DOI, h.Indexed, h.Version, string(kind)})
		return victim{place, string(kind)}
	}
	return none
}

func (s *Server) work(req request) answer {
	it, ok := s.data.lookup(req.doi)
	if !ok {
		return plain(http.StatusNotFound, "Resource not found.")
	}
	body := append([]byte(nil), `{"status":"ok","message-type":"work","message-version":"1.0.0","message":`...)
	body = s.data.appendWork(body, it, s.data.defect(it.seq))
	return answer{status: http.StatusOK, kind: typeJSON, announced: true, body: append(body, '}'), items: 1}
}

func (s *Server) release(a answer) {
	if a.pooled != nil {
		*a.pooled = a.body
		s.buffers.Put(a.pooled)
	}
}
