package query

import "slices"

// Op is the operator of a condition.
type Op string

// Operators.
const (
	OpTerm   Op = "TERM"
	OpIn     Op = "IN"
	OpRange  Op = "RANGE"
	OpExists Op = "EXISTS"
	OpToken  Op = "TOKEN"
)

// Match says how a term is looked for.
type Match string

// Matches: words in this order, the whole value untokenised, any of the words.
const (
	MatchPhrase Match = "PHRASE"
	MatchExact  Match = "EXACT"
	MatchAny    Match = "ANY"
)

// Case says whether upper and lower case differ.
type Case string

// Cases.
const (
	Insensitive Case = "INSENSITIVE"
	Sensitive   Case = "SENSITIVE"
)

// RangeType is the kind of values a range lies in.
type RangeType string

// Range types. RangeNone stands in capabilities only: the field takes no range.
const (
	RangeNone     RangeType = "NONE"
	RangeDate     RangeType = "DATE"
	RangeDateTime RangeType = "DATETIME"
	RangeNumber   RangeType = "NUMBER"
)

// Boundary says whether the end of a range belongs to it.
type Boundary string

// Boundaries.
const (
	Closed Boundary = "CLOSED"
	Open   Boundary = "OPEN"
)

// Atom is one condition. Op says which of the values is meant.
type Atom struct {
	Field  string
	Op     Op
	Term   Term
	In     List
	Range  Interval
	Exists bool
	Token  Token
}

// Term is a text to look for.
type Term struct {
	Text  string
	Match Match
	Case  Case
}

// List is a choice of values.
type List struct {
	Values []string
	Case   Case
}

// Interval is a range. An empty end is unbounded. Dates are written
// 2006-01-02, instants as RFC 3339, numbers as plain decimals.
type Interval struct {
	Type         RangeType
	From, To     string
	FromBoundary Boundary
	ToBoundary   Boundary
}

// Token is an identifier of a kind, such as an ORCID iD.
type Token struct{ Type, Value string }

func (a Atom) equalAtom(o Atom) bool {
	return a.Field == o.Field && a.Op == o.Op && a.Term == o.Term && a.Range == o.Range && a.Exists == o.Exists && a.Token == o.Token &&
		a.In.Case == o.In.Case && slices.Equal(a.In.Values, o.In.Values)
}
