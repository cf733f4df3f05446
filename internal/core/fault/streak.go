package fault

// Streak counts runs in a row that ended for the same lasting reason, without one page
// in between. One such run says something about its slice; several say that no slice
// will fare better, and that asking should end (D§5.29, §9.5). The zero value has seen
// none.
type Streak struct {
	Code   Code
	Status int
	At     string
	Runs   int
}

// How many runs in a row end the work: few while nothing was ever answered, more once
// pages came, because then some windows may simply be refused.
const (
	stopFirst = 3
	stopLater = 10
)

// Note takes in the fault of a run that got no page. A fault that may pass ends the
// streak, and another reason begins one of its own.
func (s Streak) Note(f *Error) Streak {
	if !f.Lasts() {
		return Streak{}
	}
	if s.Code != f.Code || s.Status != f.Status || s.At != f.At {
		s = Streak{Code: f.Code, Status: f.Status, At: f.At}
	}
	s.Runs++
	return s
}

// Stops reports that the next run would fail the same way. Answered says that the
// upstream delivered pages before.
func (s Streak) Stops(answered bool) bool {
	if answered {
		return s.Runs >= stopLater
	}
	return s.Runs >= stopFirst
}

// Lasts reports a fault that the same request meets again whenever it is sent: it is
// refused, cannot be written, gets an answer of another shape, or no server answers.
func (e *Error) Lasts() bool {
	switch e.Code {
	case BadRequest, Render, Refused:
		return e.Level == Request
	case BadBody:
		return e.At != ""
	case Network:
		return e.Lasting
	}
	return false
}

// Remedy is what has to change before a request can succeed.
type Remedy int

// Remedies.
const (
	Unknown  Remedy = iota // the code does not tell; it is about a single slice
	FixFile                // the source file does not fit the upstream
	FixKey                 // a credential is missing or refused
	TryLater               // the upstream, or the way to it
)

// Remedy returns what has to change before what failed so can succeed.
func (c Code) Remedy() Remedy {
	switch c {
	case BadRequest, Render, Refused, SchemaChange, NoEnd:
		return FixFile
	case Unauthorized:
		return FixKey
	case Network, ServerError, RateLimited, BadBody:
		return TryLater
	}
	return Unknown
}

// CodeIn returns the code at the start of a fault's text, as Error writes it; empty if
// the text does not begin with one.
func CodeIn(text string) Code {
	n := 0
	for n < len(text) && (text[n] >= 'A' && text[n] <= 'Z' || text[n] == '_') {
		n++
	}
	if n < len(text) && text[n] != ':' && text[n] != ' ' {
		return ""
	}
	return Code(text[:n])
}
