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
	file  *fileRequest // nil outside /forms/files
}

// ServeHTTP answers one request. On a connection that cannot be hijacked the
// faults that break it panic with http.ErrAbortHandler instead.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := s.beginVisit(w, r)
	defer v.endVisit(0, 0)
	req := s.readRequest(r, v.entry)
	t := s.plot.decideFault(req.hit)
	v.entry.Fault, v.entry.Params = t.label, req.hit.Params
	if !pauseFor(r.Context(), t.delay) {
		v.endVisit(statusClientGone, 0)
		return
	}
	a := s.answerRequest(req, t.fault)
	defer s.releaseAnswer(a)
	v.deliverAnswer(a, t.fault.Kind)
}

func (s *Server) readRequest(r *http.Request, e Entry) request {
	req := request{get: r.Method == http.MethodGet, hit: Hit{N: e.N, Path: e.Path, Query: e.Query}}
	if s.readForm(r, e, &req) || s.readFile(r, &req) {
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
		s.foreseeAnswer(&req)
	}
	return req
}

// foreseeAnswer finds out what a sound answer would be, because faults depend on it.
func (s *Server) foreseeAnswer(req *request) {
	q := req.query
	left := 0
	switch q.cursor {
	case "", "*":
		req.view = s.data.freezeView(q.first, q.last, q.order)
		left = req.view.total - q.offset
		if q.cursor == "*" {
			req.hit.Page = 1
		}
	default:
		req.hit.Page, left = s.walks.peekPage(q.cursor, time.Now())
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

func (s *Server) answerRequest(req request, f Fault) answer {
	if !f.Kind.answersAlone() {
		return s.routeRequest(req, f)
	}
	if f.Advance {
		s.releaseAnswer(s.routeRequest(req, f))
	}
	if req.form != nil {
		return s.failForm(req, f)
	}
	return answerFault(f)
}

func (s *Server) routeRequest(req request, f Fault) answer {
	switch {
	case req.form != nil:
		return s.routeForm(req, f)
	case req.file != nil:
		return s.answerFile(req)
	case !req.get:
		return answerText(http.StatusMethodNotAllowed, "Method not allowed.")
	case req.list:
		return s.answerWorks(req, f.Kind)
	case req.doi != "":
		return s.answerWork(req)
	}
	return answerText(http.StatusNotFound, "Resource not found.")
}

func (s *Server) answerWorks(req request, kind FaultKind) answer {
	var bad *refusal
	if errors.As(req.err, &bad) {
		return refuseRequest(http.StatusBadRequest, "validation-failure", *bad)
	}
	q, now := req.query, time.Now()
	var p page
	switch q.cursor {
	case "":
		from := min(q.offset, req.view.total)
		p = page{view: req.view, span: span{from, min(from+q.rows, req.view.total)}}
	case "*":
		p = s.walks.startWalk(req.view, q.rows, now)
	default:
		if kind == FaultExpireCursor {
			s.walks.forgetWalk(q.cursor, now)
		}
		s.shrinkWalk(q.cursor, now)
		var ok bool
		if p, ok = s.walks.resumeWalk(q.cursor, q.rows, kind == FaultDuplicatePage, now); !ok {
			return refuseRequest(http.StatusNotFound, "resource-failure",
				refusal{"cursor-invalid", q.cursor, "The cursor is not valid or has expired."})
		}
	}
	return s.pageAnswer(req, p, kind)
}

func (s *Server) pageAnswer(req request, p page, kind FaultKind) answer {
	spoil := s.chooseVictim(req, p.span.len(), func(i int) item { return p.view.itemAt(p.span.from + i) }, kind)
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
	first := draw.numberBelow(n)
	for i := range n {
		place := (first + i) % n
		it := at(place)
		if s.data.defectOf(it.seq) != Sound {
			continue
		}
		h := s.data.headTruth(it)
		s.ledger.noteAlteration(Alteration{req.hit.N, h.DOI, h.Indexed, h.Version, string(kind)})
		return victim{place, string(kind)}
	}
	return none
}

func (s *Server) answerWork(req request) answer {
	it, ok := s.data.lookUpDOI(req.doi)
	if !ok {
		return answerText(http.StatusNotFound, "Resource not found.")
	}
	body := append([]byte(nil), `{"status":"ok","message-type":"work","message-version":"1.0.0","message":`...)
	body = s.data.appendWork(body, it, s.data.defectOf(it.seq))
	return answer{status: http.StatusOK, kind: typeJSON, announced: true, body: append(body, '}'), items: 1}
}

func (s *Server) releaseAnswer(a answer) {
	if a.pooled != nil {
		*a.pooled = a.body
		s.buffers.Put(a.pooled)
	}
}
