package twophase

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// search asks an upstream for ids until all are answered or it is blamed.
func search(t *rapid.T, ids []string, batch int, fails func(ids []string) bool) (condemned []string, blamed bool) {
	var s Suspects
	pending := slices.Clone(ids)
	delivered := map[string]int{}
	answer := func(asked []string) {
		guilty, spared := s.Judge()
		for _, one := range guilty {
			condemned = append(condemned, one.ID)
		}
		came := ""
		for _, id := range asked {
			delivered[id]++
			came = id
		}
		pending = slices.Concat(spared, pending)
		s.NoteAnswer(came, spared, batch)
	}
	for n := 0; len(pending) > 0 || s.Waiting(); n++ {
		if n > 50*len(ids)+100 {
			t.Fatalf("no end: %d pending, %+v", len(pending), s)
		}
		if len(pending) == 0 {
			return condemned, true // nobody is left who could tell
		}
		asked := pending[:min(s.Limit(batch), len(pending))]
		switch {
		case !fails(asked):
			pending = pending[len(asked):]
			answer(asked)
			continue
		case len(asked) > 1:
			s.Halve(len(asked))
			continue
		}
		pending = pending[1:]
		switch s.Add(asked[0], errors.New("it fails"), len(pending)) {
		case BlameUpstream:
			return condemned, true
		case AskGood:
			if fails([]string{s.Good()}) {
				return condemned, true
			}
			answer(nil)
		}
	}
	for _, id := range ids {
		if slices.Contains(condemned, id) == (delivered[id] > 0) || delivered[id] > 1 {
			t.Fatalf("%s came %d times, condemned are %v", id, delivered[id], condemned)
		}
	}
	return condemned, false
}

// Whichever ids make every request with them fail: they are condemned and no other is, and
// all others are delivered, each once.
func TestTheSearchCondemnsTheBadIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ids, bad []string
		for n := range rapid.IntRange(2, 80).Draw(t, "ids") {
			ids = append(ids, fmt.Sprint(n))
		}
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(ids)-1), 0, min(maxSuspects-1, len(ids)-1), rapid.ID[int]).Draw(t, "bad") {
			bad = append(bad, ids[n])
		}
		condemned, blamed := search(t, ids, rapid.IntRange(1, 30).Draw(t, "batch"), func(asked []string) bool {
			return slices.ContainsFunc(asked, func(id string) bool { return slices.Contains(bad, id) })
		})
		if slices.Sort(condemned); blamed || !slices.Equal(condemned, slices.Sorted(slices.Values(bad))) {
			t.Fatalf("bad are %v, condemned %v, upstream blamed: %v", bad, condemned, blamed)
		}
	})
}

// An upstream that answers nothing costs no id.
func TestAnUpstreamThatIsDownCondemnsNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ids []string
		for n := range rapid.IntRange(1, 80).Draw(t, "ids") {
			ids = append(ids, fmt.Sprint(n))
		}
		down := rapid.IntRange(0, 10).Draw(t, "answers before it goes down")
		condemned, blamed := search(t, ids, rapid.IntRange(1, 30).Draw(t, "batch"), func([]string) bool {
			down--
			return down < 0
		})
		if len(condemned) > 0 || blamed != (down < 0) {
			t.Fatalf("condemned %v, upstream blamed: %v", condemned, blamed)
		}
	})
}

// An id that failed alone once, and comes when it is asked for again, is not condemned.
func TestOneFailureCondemnsNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ids []string
		for n := range rapid.IntRange(2, 80).Draw(t, "ids") {
			ids = append(ids, fmt.Sprint(n))
		}
		failing := map[string]bool{}
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(ids)-1), 0, min(maxSuspects-1, len(ids)-1), rapid.ID[int]).Draw(t, "failing once") {
			failing[ids[n]] = true
		}
		condemned, blamed := search(t, ids, rapid.IntRange(1, 30).Draw(t, "batch"), func(asked []string) bool {
			if !slices.ContainsFunc(asked, func(id string) bool { return failing[id] }) {
				return false
			}
			if len(asked) == 1 {
				failing[asked[0]] = false
			}
			return true
		})
		if len(condemned) > 0 || blamed {
			t.Fatalf("condemned %v, upstream blamed: %v", condemned, blamed)
		}
	})
}

func TestWhoTellsWhetherTheUpstreamAnswers(t *testing.T) {
	fails := errors.New("it fails")
	var fresh, answered Suspects
	answered.NoteAnswer("good", nil, 10)
	if got := fresh.Add("a", fails, 1); got != AskNext {
		t.Error("nothing came so far, another id is pending:", got)
	}
	if got := fresh.Add("b", fails, 0); got != BlameUpstream {
		t.Error("nothing came so far, and nobody is left:", got)
	}
	if got := answered.Add("a", fails, 5); got != AskGood {
		t.Error("an id came before:", got)
	}
	for n := range maxSuspects - 2 {
		answered.Add(fmt.Sprint(n), fails, 5)
	}
	if got := answered.Add("last", fails, 5); got != BlameUpstream {
		t.Error("that many in a row:", got)
	}
}
