package source

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/paging"
)

func TestPosition(t *testing.T) {
	base := 1
	for _, c := range []struct {
		config paging.Config
		text   string
		want   paging.State
	}{
		{paging.Config{Type: paging.Token, Initial: "*"}, "", paging.State{Token: "*", Total: -1, First: -1}},
		{paging.Config{Type: paging.Token, Initial: "*"}, "abc", paging.State{Pages: 1, Token: "abc", Total: -1, First: -1}},
		{paging.Config{Type: paging.URL}, "/x", paging.State{Pages: 1, URL: "/x", Total: -1, First: -1}},
		{paging.Config{Type: paging.Offset}, "30", paging.State{Pages: 1, Offset: 30, Total: -1, First: -1}},
		{paging.Config{Type: paging.Page, Base: &base}, "4", paging.State{Pages: 1, Number: 4, Total: -1, First: -1}},
	} {
		if got, err := parsePosition(c.config, c.text); err != nil || got != c.want {
			t.Errorf("%s %q: %+v, %v", c.config.Type, c.text, got, err)
		}
	}
	for _, bad := range []paging.Config{{Type: paging.Offset}, {Type: paging.Time}, {}} {
		if _, err := parsePosition(bad, "-3"); err == nil {
			t.Errorf("%q takes -3", bad.Type)
		}
	}
}
