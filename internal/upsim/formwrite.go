package upsim

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/url"
	"time"
)

const typeXML = "application/xml"

// formItem is a work as the forms serve it.
type formItem struct {
	ID      string `json:"id,omitempty" xml:"id,omitempty"`
	Updated string `json:"updated" xml:"updated"`
	Title   string `json:"title" xml:"title"`
	Version int    `json:"version" xml:"version"`
	Shelf   string `json:"shelf,omitempty" xml:"shelf,omitempty"` // of a list that is given shelf by shelf
}

func (d *Dataset) formItem(it item, bad string, lies Lies) formItem {
	out := formItem{ID: d.doiOf(it.seq), Updated: stampText(lies.shownInstant(it.indexed)), Title: d.formTitle(it), Version: int(it.rev) + 1}
	if bad == MissingID {
		out.ID = ""
	}
	if broken := brokenStamp(it.seq, bad); broken != nil {
		out.Updated = *broken
	}
	return out
}

// formTitle changes with the content.
func (d *Dataset) formTitle(it item) string {
	draw := newStream(d.cfg.Seed, 'f', uint64(it.seq), uint64(it.rev))
	return pickOne(&draw, topicWords()) + ": " + pickOne(&draw, qualifierWords())
}

func stampText(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// formBody is an answer of a form. What its form does not tell is left out.
type formBody struct {
	XMLName xml.Name `json:"-"`

	Total   *int        `json:"total,omitempty" xml:"total,omitempty"`
	Page    *int        `json:"page,omitempty" xml:"page,omitempty"`
	Pages   *int        `json:"pages,omitempty" xml:"pages,omitempty"`
	Offset  *int        `json:"offset,omitempty" xml:"offset,omitempty"`
	HasMore *bool       `json:"has_more,omitempty" xml:"has_more,omitempty"`
	Next    *string     `json:"next,omitempty" xml:"next,omitempty"`
	Links   *formLinks  `json:"links,omitempty" xml:"-"`
	Items   *[]formItem `json:"items,omitempty" xml:"record"`
	IDs     *[]string   `json:"ids,omitempty" xml:"ids>id"`
	Missing []string    `json:"missing,omitempty" xml:"missing>id,omitempty"`
}

type formLinks struct {
	Next string `json:"next,omitempty"`
}

// writePage writes a page as its form does.
func (s *Server) writePage(p sheet) answer {
	f := p.query.form
	body := formBody{XMLName: xml.Name{Local: "answer"}, Missing: p.absent}
	s.fillBody(&body, p)
	if p.total >= 0 {
		body.Total = &p.total
	}
	switch f.how {
	case byPage:
		page := p.start/p.query.size + f.base
		body.Page = &page
		if p.total >= 0 {
			pages := (p.total + p.query.size - 1) / p.query.size
			body.Pages = &pages
		}
	case byOffset:
		body.Offset = &p.start
	}
	if f.flag {
		body.HasMore = &p.more
	}
	out := answer{status: http.StatusOK, kind: typeJSON, items: len(p.items)}
	address := p.nextAddress()
	switch {
	case f.next == nextHeader:
		out.extra = http.Header{"Link": {p.linkHeader(address)}}
	case f.next == nextToken && p.next != "":
		body.Next = &p.next
	case f.next == nextAbsolute, f.next == nextRelative:
		body.Links = &formLinks{address}
	}
	switch lies := s.currentLies(); {
	case f.csv:
		out.kind, out.body = typeCSV, lies.downBody(encodeRows(*body.Items))
	case f.xml:
		out.kind, out.body = typeXML, lies.renameItems(encodeBody(body, true))
	default:
		out.body = lies.markBody(encodeBody(body, false))
	}
	return out
}

func (s *Server) fillBody(body *formBody, p sheet) {
	if p.query.form.ids {
		ids := make([]string, len(p.items))
		for i, it := range p.items {
			ids[i] = s.data.doiOf(it.seq)
		}
		body.IDs = &ids
		return
	}
	items, lies := make([]formItem, len(p.items)), s.currentLies()
	for i, it := range p.items {
		bad := s.data.defectOf(it.seq)
		if i == p.spoil.at {
			bad = p.spoil.bad
		}
		if items[i] = s.data.formItem(it, bad, lies); p.query.form.shelf {
			items[i].Shelf = s.shelfOf(it)
		}
	}
	body.Items = &items
}

// nextAddress repeats the parameters of the request; credentials are not among
// them. Empty where there is no next page.
func (p sheet) nextAddress() string {
	if p.next == "" {
		return ""
	}
	return p.addressOf(p.next)
}

func (p sheet) addressOf(token string) string {
	params := url.Values{}
	for name, given := range p.query.params {
		params[name] = given
	}
	params.Del("token")
	if token != "" {
		params.Set("token", token)
	}
	if p.query.form.next == nextRelative {
		return "?" + params.Encode()
	}
	return "http://" + p.query.host + "/forms/" + p.query.form.name + "?" + params.Encode()
}

// linkHeader has other relations beside the one that matters (RFC 8288).
func (p sheet) linkHeader(next string) string {
	text := "<" + p.addressOf("") + `>; rel="first"; title="page, the first"`
	if next != "" {
		text += ", <" + next + `>; rel="next"`
	}
	return text
}

func encodeBody(body formBody, asXML bool) []byte {
	var out bytes.Buffer
	var err error
	if asXML {
		out.WriteString(xml.Header)
		err = xml.NewEncoder(&out).Encode(body)
	} else {
		err = json.NewEncoder(&out).Encode(body)
	}
	if err != nil {
		panic(err) // plain texts and numbers always encode
	}
	return out.Bytes()
}

// formError returns how the forms refuse, also with a good status.
func formError(status int, code, message string) answer {
	body := appendString(append([]byte(nil), `{"error":{"code":`...), code, true)
	body = appendString(append(body, `,"message":`...), message, true)
	return answer{status: status, kind: typeJSON, body: append(body, `}}`...)}
}
