package upsim

import (
	"net/http"
	"time"
)

const (
	typeJSON = "application/json"
	typeHTML = "text/html"
	typeText = "text/plain"
)

// appendPage writes a work-list answer.
func (d *Dataset) appendPage(dst []byte, q listQuery, p page, spoil victim) []byte {
	dst = append(dst, `{"status":"ok","message-type":"work-list","message-version":"1.0.0","message":{"facets":{}`...)
	if p.cursor != "" {
		dst = append(dst, `,"next-cursor":"`...)
		dst = append(dst, p.cursor...)
		dst = append(dst, '"')
	}
	dst = appendInt(append(dst, `,"total-results":`...), p.view.total-p.left)
	dst = append(dst, `,"items":[`...)
	for i := p.span.from; i < p.span.to; i++ {
		if i > p.span.from {
			dst = append(dst, ',')
		}
		it := p.view.itemAt(i)
		bad := d.defectOf(it.seq)
		if i-p.span.from == spoil.at {
			bad = spoil.bad
		}
		dst = d.appendWork(dst, it, bad)
	}
	dst = appendInt(append(dst, `],"items-per-page":`...), q.rows)
	dst = appendInt(append(dst, `,"query":{"start-index":`...), q.offset)
	dst = append(dst, `,"search-terms":`...)
	if q.terms == "" {
		dst = append(dst, `null`...)
	} else {
		dst = appendString(dst, q.terms, true)
	}
	return append(dst, `}}}`...)
}

func refuseRequest(status int, kind string, why refusal) answer {
	body := append([]byte(nil), `{"status":"failed","message-type":`...)
	body = appendString(body, kind, true)
	body = appendString(append(body, `,"message":[{"type":`...), why.kind, true)
	body = appendString(append(body, `,"value":`...), why.value, true)
	body = appendString(append(body, `,"message":`...), why.message, true)
	return answer{status: status, kind: typeJSON, announced: true, body: append(body, `}]}`...)}
}

func answerText(status int, text string) answer {
	return answer{status: status, kind: typeText, body: []byte(text)}
}

// answerFault returns the answer of the faults that send no page. As upstream
// does, the HTML pages carry no rate headers.
func answerFault(f Fault) answer {
	switch f.Kind {
	case FaultHTML200:
		return answer{status: http.StatusOK, kind: typeHTML, body: htmlPage("Scheduled maintenance")}
	case FaultError200:
		body := `{"status":"error","message-type":"exception","message-version":"1.0.0","message":{"name":"simulated failure","description":"The index did not answer.","message":"simulated failure","stack":[],"cause":null}}`
		return answer{status: http.StatusOK, kind: typeJSON, body: []byte(body)}
	}
	if f.Kind == FaultEmpty200 {
		body := `{"status":"ok","message-type":"work-list","message-version":"1.0.0","message":{"facets":{},"next-cursor":"AAAA","total-results":0,"items":[],"items-per-page":20,"query":{"start-index":0,"search-terms":null}}}`
		return answer{status: http.StatusOK, kind: typeJSON, announced: true, body: []byte(body)}
	}
	status := f.Kind.httpStatus()
	wait, _ := retryAfter(f.RetryAfter, time.Now()) // checked when the fault was set
	return answer{status: status, kind: typeHTML, retryAfter: wait, body: htmlPage(string(f.Kind) + " " + http.StatusText(status))}
}

func htmlPage(title string) []byte {
	return []byte("<html>\n<head><title>" + title + "</title></head>\n<body>\n<h1>" + title + "</h1>\n</body>\n</html>\n")
}
