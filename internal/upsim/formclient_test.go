package upsim

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// formReply is an answer of a form as a client reads it.
type formReply struct {
	status int
	header http.Header
	raw    []byte

	Total   *int       `json:"total" xml:"total"`
	Pages   *int       `json:"pages"`
	HasMore *bool      `json:"has_more"`
	Next    string     `json:"next"`
	Links   formLinks  `json:"links"`
	Items   []formItem `json:"items" xml:"record"`
	IDs     []string   `json:"ids" xml:"ids>id"`
	Missing []string   `json:"missing" xml:"missing>id"`
	Error   struct {
		Code string `json:"code"`
	} `json:"error"`
}

// next is the token or address that leads on, "" if there is none.
func (r formReply) next() string {
	link := regexp.MustCompile(`<([^>]*)>; rel="next"`).FindStringSubmatch(r.header.Get("Link"))
	switch {
	case link != nil:
		return link[1]
	case r.Links.Next != "":
		return r.Links.Next
	}
	return r.Next
}

// plainClient walks forms as simply as their documentation allows.
type plainClient struct {
	testing.TB
	s    *Server
	size int
	// tolerant: an answer that is not a page is given back, not fatal.
	tolerant bool
	sign     func(*http.Request)
}

func (c plainClient) send(method, address string, body []byte, header http.Header) formReply {
	c.Helper()
	r, err := http.NewRequest(method, address, bytes.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	if c.sign != nil {
		c.sign(r)
	}
	resp, err := oneShot(c).Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	reply := formReply{status: resp.StatusCode, header: resp.Header}
	if reply.raw, err = io.ReadAll(resp.Body); err != nil {
		c.Fatal(err)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), typeXML) {
		err = xml.Unmarshal(reply.raw, &reply)
	} else {
		err = json.Unmarshal(reply.raw, &reply)
	}
	if !c.tolerant && (err != nil || reply.status != http.StatusOK || reply.Error.Code != "") {
		c.Fatalf("%s %s: %d %v %s", method, address, reply.status, err, reply.raw)
	}
	return reply
}

func (c plainClient) get(form string, values url.Values, pairs ...string) formReply {
	c.Helper()
	return c.send("GET", c.address(form, values, pairs...), nil, nil)
}

func (c plainClient) address(form string, values url.Values, pairs ...string) string {
	all := query(append([]string{"size", fmt.Sprint(c.size)}, pairs...)...)
	for name, given := range values {
		all[name] = given
	}
	return c.s.URL() + "/forms/" + form + "?" + all.Encode()
}

// step asks for the page that follows on `at`: nil for the first page.
func (c plainClient) step(form string, window url.Values, at *formReply, seen int) formReply {
	c.Helper()
	f, _ := findForm("/forms/" + form)
	switch {
	case f.how == byOffset:
		return c.get(form, window, "offset", fmt.Sprint(seen))
	case f.how == byPage:
		return c.get(form, window, "page", fmt.Sprint(seen/c.size+f.base))
	case at == nil && f.tokenIn == tokenInBody:
		return c.post(form, window, "")
	case at == nil || f.how == byWindow:
		return c.get(form, window)
	case f.how == byKey:
		return c.get(form, window, "after_id", at.Items[len(at.Items)-1].ID)
	case f.how == byStampKey:
		last := at.Items[len(at.Items)-1]
		return c.get(form, window, "after_id", last.ID, "after_stamp", last.Updated)
	case f.tokenIn == tokenInHeader:
		return c.send("GET", c.address(form, window), nil, http.Header{pageTokenHeader: {at.Next}})
	case f.tokenIn == tokenInBody:
		return c.post(form, window, at.Next)
	case f.next == nextToken:
		return c.get(form, window, "token", at.Next)
	}
	base, _ := url.Parse(c.address(form, window))
	next, err := base.Parse(at.next())
	if err != nil {
		c.Fatal(err)
	}
	return c.send("GET", next.String(), nil, nil)
}

func (c plainClient) post(form string, window url.Values, token string) formReply {
	c.Helper()
	members := map[string]any{"size": c.size, "token": token}
	for name := range window {
		members[name] = window.Get(name)
	}
	body, _ := json.Marshal(members)
	return c.send("POST", c.s.URL()+"/forms/"+form, body, http.Header{"Content-Type": {typeJSON}})
}

// done is how each form says that a page was the last.
func (c plainClient) done(f form, r formReply, n, seen int) bool {
	switch {
	case f.flag:
		return !*r.HasMore
	case f.how == byPage:
		return seen/c.size >= *r.Pages || n == 0
	case f.same:
		return n < c.size || r.Next == ""
	case f.how == byToken:
		return r.next() == ""
	case f.how == byOffset && f.total:
		return seen >= *r.Total || n == 0
	case f.how == byOffset:
		return n < c.size
	}
	return n == 0
}

// walk reads a whole list; at most so many pages.
func (c plainClient) walk(form string, window url.Values) (replies []formReply) {
	c.Helper()
	f, _ := findForm("/forms/" + form)
	if f.how == byWindow {
		return c.narrow(window)
	}
	var at *formReply
	for seen := 0; len(replies) < 300; {
		r := c.step(form, window, at, seen)
		n := len(r.Items) + len(r.IDs)
		if replies = append(replies, r); c.done(f, r, n, seen+n) {
			return replies
		}
		if seen += n; f.how == byPage {
			seen = len(replies) * c.size
		}
		at = &r
	}
	c.Fatalf("%s does not end", form)
	return nil
}

// narrow halves the window while a page is full.
func (c plainClient) narrow(window url.Values) []formReply {
	c.Helper()
	r := c.get("time", window)
	if len(r.Items) < c.size {
		return []formReply{r}
	}
	from, err := time.Parse(time.RFC3339, window.Get("from"))
	if err != nil {
		c.Fatal(err)
	}
	until, err := time.Parse(time.RFC3339, window.Get("until"))
	middle := from.Add(until.Sub(from) / 2).Truncate(time.Second)
	if err != nil || !middle.After(from) {
		c.Fatalf("%v: a second holds a full page", err)
	}
	return append(c.narrow(within(from, middle)), c.narrow(within(middle, until))...)
}

// fetch is the second step: records by id, by GET or POST in turn.
func (c plainClient) fetch(form string, ids []string) (items []formItem) {
	c.Helper()
	for i := 0; len(ids) > 0; i++ {
		n := min(len(ids), 50)
		var r formReply
		address := c.s.URL() + "/forms/" + form
		switch joined := strings.Join(ids[:n], ","); i % 3 {
		case 0:
			r = c.send("GET", address+"?"+query("ids", joined).Encode(), nil, nil)
		case 1:
			r = c.send("POST", address, []byte(query("ids", joined).Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
		case 2:
			body, _ := json.Marshal(map[string]any{"ids": ids[:n]})
			r = c.send("POST", address, body, http.Header{"Content-Type": {typeJSON}})
		}
		items, ids = append(items, r.Items...), ids[n:]
	}
	return items
}

func within(from, until time.Time) url.Values {
	return query("from", from.Format(time.RFC3339), "until", until.Format(time.RFC3339))
}

func itemsOf(replies []formReply) (items []formItem) {
	for _, r := range replies {
		items = append(items, r.Items...)
	}
	return items
}

func idsOf(replies []formReply) (ids []string) {
	for _, r := range replies {
		ids = append(ids, r.IDs...)
		for _, it := range r.Items {
			ids = append(ids, it.ID)
		}
	}
	return ids
}
