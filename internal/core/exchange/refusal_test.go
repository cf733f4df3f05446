package exchange

import (
	"net/url"
	"strings"
	"testing"
)

func TestTrust12ARefusalNamesTheParameter(t *testing.T) {
	address, err := url.Parse("https://api.example.org/works?filter=from-index-date:x&rows=5&mailto=me@example.org")
	if err != nil {
		t.Fatal(err)
	}
	get := &Request{Method: "GET", URL: address, Header: Header{}}
	form := &Request{Method: "POST", URL: &url.URL{Path: "/search"}, Header: Header{"Content-Type": {"application/x-www-form-urlencoded"}}, Body: []byte("term=x&retmax=7")}
	object := &Request{Method: "POST", URL: &url.URL{Path: "/search"}, Header: Header{"Content-Type": {"application/json; charset=utf-8"}}, Body: []byte(`{"cursor": 1}`)}
	for _, tc := range []struct {
		name    string
		request *Request
		body    string
		want    string
	}{
		{"query", get, "{\"message\": \"Filter  is not\n\tvalid\"}", `the answer names the parameter filter and begins with "{\"message\": \"Filter is not valid\"}"`},
		{"part of a word", get, "arrows and filters", `the answer begins with "arrows and filters"`},
		{"form", form, "bad retmax.", `the answer names the parameter retmax and begins with "bad retmax."`},
		{"JSON", object, "'cursor' must be text", `the answer names the parameter cursor and begins with "'cursor' must be text"`},
		{"nothing", get, " \n", "the answer is empty"},
	} {
		if got := DescribeRefusal(tc.request, &Response{Body: []byte(tc.body)}); got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.name, got, tc.want)
		}
	}
	if got := DescribeRefusal(get, &Response{Body: []byte("write to ann@example.org " + strings.Repeat("x", 5000))}); strings.Contains(got, "ann@") || len(got) > 400 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
