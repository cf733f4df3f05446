package twophase

import "github.com/patra-ingest/patra/internal/core/fault"

// Suspects is the search for ids that make a whole detail request fail. A batch that fails
// is asked for in halves until the id is alone. An id that failed alone is asked for again
// once the upstream answered another request, and condemned if it fails then and the
// upstream answers once more: while the upstream itself is in trouble, every id fails
// (§4.6). It decides what to ask for next and whom to blame; it asks nobody.
//
// The zero value searches for nothing.
type Suspects struct {
	most  int // ids per request while searching; 0: as many as declared
	list  []Suspect
	heard map[string]bool // suspects that get another try
	good  string          // an id that was delivered
}

// Suspect is an id that failed alone.
type Suspect struct {
	ID    string
	Err   error
	again bool // it failed twice, and the upstream answered in between
}

// BlamesIDs reports whether a single id of a request may have caused a fault.
func BlamesIDs(c fault.Code) bool {
	switch c {
	case fault.ServerError, fault.BadBody, fault.BadRequest, fault.TooLarge, fault.Network:
		return true
	}
	return false
}

// maxSuspects is how many ids in a row may fail alone before the upstream is to blame.
const maxSuspects = 8

// Searching reports whether requests are smaller to find an id.
func (s *Suspects) Searching() bool { return s.most > 0 }

// Waiting reports whether ids that failed alone wait for an answer to another request.
func (s *Suspects) Waiting() bool { return len(s.list) > 0 }

// Limit returns how many ids the next request asks for, of a batch of so many.
func (s *Suspects) Limit(batch int) int {
	if s.most > 0 {
		return min(batch, s.most)
	}
	return batch
}

// Halve asks for half of so many ids from now on.
func (s *Suspects) Halve(ids int) { s.most = (ids + 1) / 2 }

// Good returns an id that was delivered; empty if none was.
func (s *Suspects) Good() string { return s.good }

// Verdict is what follows from an id that failed alone.
type Verdict int

// Verdicts.
const (
	BlameUpstream Verdict = iota // the error stands: nothing shows that the upstream answers
	AskNext                      // the next pending id tells
	AskGood                      // the id that was delivered tells
)

// Add sets an id aside that failed alone, and decides whom to ask to learn whether the
// upstream answers anything. left is how many ids are pending behind it.
func (s *Suspects) Add(id string, err error, left int) Verdict {
	s.list = append(s.list, Suspect{id, err, s.heard[id]})
	switch {
	case len(s.list) >= maxSuspects:
		return BlameUpstream
	case s.good != "":
		return AskGood
	case left > 0:
		return AskNext
	}
	return BlameUpstream
}

// Judge tells, after an answer, who is condemned and who gets another try.
func (s *Suspects) Judge() (condemned []Suspect, spared []string) {
	for _, one := range s.list {
		if one.again {
			condemned = append(condemned, one)
		} else {
			spared = append(spared, one.ID)
		}
	}
	return condemned, spared
}

// NoteAnswer forgets the suspects after an answer and asks for more ids again; those that
// get another try are alone in it. came is an id that was asked for and delivered, if one
// was; batch is how many ids a request asks for at most.
func (s *Suspects) NoteAnswer(came string, spared []string, batch int) {
	s.list = nil
	if came != "" {
		s.good = came
	}
	if len(spared) > 0 {
		s.most, s.heard = 1, map[string]bool{}
		for _, id := range spared {
			s.heard[id] = true
		}
		return
	}
	if s.most *= 2; s.most >= batch {
		s.most = 0
	}
}
