package paging

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestWhenAWalkMayBeginAgain(t *testing.T) {
	first, later := State{}, State{Pages: 3}
	for name, c := range map[string]struct {
		kind  Type
		state State
		fault fault.Error
		again []bool // of the first, second, third break
	}{
		"a token that died":          {Token, later, fault.Error{Code: fault.TokenLost}, []bool{true, true, true}},
		"at the first page too":      {Token, first, fault.Error{Code: fault.TokenLost}, []bool{true, true, true}},
		"fewer than announced":       {Offset, later, fault.Error{Code: fault.ShortCount}, []bool{true, true, true}},
		"a circle":                   {Token, later, fault.Error{Code: fault.TokenLoop}, []bool{true, true, false}},
		"a circle at the first page": {Token, first, fault.Error{Code: fault.TokenLoop}, []bool{false, false, false}},
		"a token nobody knows":       {URL, later, fault.Error{Code: fault.BadRequest, Status: 410}, []bool{true, true, false}},
		"a body without a token":     {Token, later, fault.Error{Code: fault.BadBody}, []bool{true, true, false}},
		"a body of an offset":        {Offset, later, fault.Error{Code: fault.BadBody}, []bool{false, false, false}},
		"an upstream in trouble":     {Token, later, fault.Error{Code: fault.ServerError, Status: 500}, []bool{false, false, false}},
	} {
		var search Isolation
		for n, want := range c.again {
			if again, few := search.NoteBreak(config(c.kind, 100), c.state, &c.fault); again != want || again && few != (n < 2) {
				t.Errorf("%s, time %d: again %v, few %v", name, n+1, again, few)
			}
		}
	}
}

// A page is blamed only if every restart broke there.
func TestAPageIsBlamedForTheRestarts(t *testing.T) {
	lost := &fault.Error{Code: fault.TokenLost}
	here, elsewhere := State{Pages: 3}, State{Pages: 4}
	var search Isolation
	for restarts := range 5 {
		if search.BlamesRestarts(here, lost, restarts, 5) {
			t.Fatalf("blamed after %d restarts of 5", restarts)
		}
		search.NoteBreak(config(Token, 100), here, lost)
	}
	if !search.BlamesRestarts(here, lost, 5, 5) {
		t.Error("five of five broke there")
	}
	if search.BlamesRestarts(elsewhere, lost, 5, 5) || search.BlamesRestarts(here, &fault.Error{Code: fault.ServerError}, 5, 5) {
		t.Error("another page, or another fault")
	}
	search.NoteBreak(config(Token, 100), elsewhere, lost)
	if search.BlamesRestarts(here, lost, 6, 5) {
		t.Error("one of six broke elsewhere")
	}
}
