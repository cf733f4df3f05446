package paging

import (
	"strings"
	"testing"
)

// A list that ends before its total names the path that should have led on.
func TestTrust19ShortListsNameThePathOfTheNextPage(t *testing.T) {
	yes, total := true, int64(9)
	c := Config{Type: Token, Size: 4, ExpectTotal: &yes}.WithDefaults()
	d := c.Advance(c.First(), Observation{Items: 4, New: 4, Total: &total, NextAt: "$.nxt (response.nextToken)"})
	if d.Err == nil || !strings.Contains(d.Err.Error(), "nothing stood at $.nxt (response.nextToken)") {
		t.Errorf("%+v", d)
	}
	if d = c.Advance(c.First(), Observation{Items: 4, New: 4, Total: &total, Token: "t"}); d.Err != nil || d.Done {
		t.Errorf("%+v", d)
	}
}
