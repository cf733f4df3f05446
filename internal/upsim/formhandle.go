package upsim

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// formRequest is a request below /forms/ or for a token.
type formRequest struct {
	call  call
	query formQuery
	err   error // why it is refused
	door  bool  // asks for a token
}

// readForm reports false for what is neither a form nor a door.
func (s *Server) readForm(r *http.Request, e Entry, req *request) bool {
	path, key := s.cutKey(r)
	f, isForm := findForm(path)
	isDoor := slices.Contains([]string{oauthPath, loginPath}, r.URL.Path)
	if !isForm && !isDoor {
		return false
	}
	req.form = &formRequest{call: readCall(r, e.Query), door: isDoor}
	req.form.call.pathKey = key
	if isDoor {
		return true
	}
	req.form.query, req.form.err = parseForm(f, req.form.call, s.opts.Forms.Auth, s.opts.Forms)
	if req.form.err == nil {
		req.hit.form = s.foreseeForm(req)
	}
	return true
}

// cutKey takes the key off a path that has one before its form, as in /bot-KEY/forms/token.
func (s *Server) cutKey(r *http.Request) (path, key string) {
	escaped := r.URL.EscapedPath()
	before, list, found := strings.Cut(escaped, "/forms/")
	sent, named := strings.CutPrefix(before, "/bot-")
	if s.opts.Forms.Auth.Kind != AuthPath || !found || !named {
		return r.URL.Path, ""
	}
	key, _ = url.PathUnescape(sent)
	return "/forms/" + list, key
}

// foreseen is what faults must know of a page of a form before it is made.
type foreseen struct {
	is        bool // a page of a form
	places    int  // items or ids on it
	left      int  // behind it
	past      bool // it lies behind the end of a list that is not empty
	token     bool // it was asked for by a token
	leads     bool // the form names the next page
	flags     bool // the form says whether there is one
	announces bool // the form tells the total
}

func (s *Server) foreseeForm(req *request) foreseen {
	q := req.form.query
	req.hit.Params, req.hit.IDs = q.params, q.ids
	if q.form.how == byRecords {
		for _, id := range q.ids {
			if _, ok := s.data.lookUpDOI(id); ok {
				req.hit.items++
			}
		}
		return foreseen{}
	}
	l, ok := s.locatePage(q, time.Now())
	if !ok {
		return foreseen{}
	}
	req.hit.Page = l.page
	left := max(0, s.reachableItems(q, len(l.items))-l.start)
	f := foreseen{
		is: true, places: min(left, q.size), left: max(0, left-q.size),
		past:  left == 0 && len(l.items) > 0 && q.form.byPosition(),
		token: q.token != "", leads: q.form.next != "", flags: q.form.flag, announces: q.form.total,
	}
	if !q.form.ids {
		req.hit.items = f.places
	}
	return f
}

func (s *Server) routeForm(req request, f Fault) answer {
	r := req.form
	if r.call.method != http.MethodGet && r.call.method != http.MethodPost {
		return formError(http.StatusMethodNotAllowed, "method-not-allowed", "Use GET or POST.")
	}
	if r.door {
		return s.forms.gate.openSession(r.call, time.Now())
	}
	if refused, ok := s.forms.gate.admitCall(r.call, time.Now()); !ok {
		return refused
	}
	var bad *refusal
	if errors.As(r.err, &bad) {
		return formError(http.StatusBadRequest, bad.kind, bad.message)
	}
	if r.query.form.how == byRecords {
		return s.answerRecords(req, f)
	}
	return s.answerList(req, f)
}

// failForm returns what the faults that send no page say where forms do not
// speak as /works does.
func (s *Server) failForm(req request, f Fault) answer {
	switch q := req.form.query; {
	case f.Kind == FaultError200:
		return formError(http.StatusOK, "index-failure", "The index did not answer.")
	case f.Kind == FaultEmpty200 && req.hit.form.is:
		out := sheet{query: q, total: -1}
		if q.form.total {
			out.total = 0
		}
		return s.writePage(out)
	}
	return answerFault(f)
}
