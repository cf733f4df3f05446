// Package span holds what the work tells about its course while it is done: which step
// began within which other, what it is about, and how it ended (§14.6). Services begin
// and end spans; whoever records them knows how they leave the machine. Neither knows the
// other.
//
// It never holds a text of an upstream, a token of paging or a secret: a value of it
// leaves the machine. Where nobody records, beginning a span looks once into the context
// and costs nothing else.
package span

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// The steps that have spans. Requests are named by their method instead.
const (
	Trigger = "trigger" // somebody, or a tick, asks for a plan
	Compile = "compile" // the source is frozen for the operation
	Resume  = "resume"  // slicing of a stored plan goes on
	Slice   = "slice"   // one slice is cut and stored with its task
	Claim   = "claim"   // a task is taken from the queue, and held until it is given back
	Run     = "run"     // one attempt at the task
	Batch   = "batch"   // one page: asked for, read and stored
	Commit  = "commit"  // writing it into the database
)

// Recorder records spans.
type Recorder interface {
	// Record begins a span within the one that ctx carries. The context that is returned
	// is handed on to what happens within the new one.
	Record(ctx context.Context, b Beginning) (context.Context, Recorded)
}

// Beginning is what is known of a span when it begins.
type Beginning struct {
	Name   string
	Client bool      // a request to another machine
	Root   bool      // it begins a trace of its own, whatever ctx is part of
	At     time.Time // when it began; zero: now
	Link   string    // traceparent of a span of another trace that led to this one; empty: none
}

// Recorded is a span that is recorded, or known and left out by sampling.
type Recorded interface {
	// IsKept reports whether anybody will see it: what is left out needs no attributes.
	IsKept() bool
	Note(attributes []Attribute)
	// Fail says that it ended badly: with which level and code of fault.
	Fail(level, code string)
	// End ends it. The second end does nothing.
	End()
	// Traceparent names it as W3C Trace Context does.
	Traceparent() string
}

// Attribute is something that a span tells: a text, a number, or yes or no.
type Attribute struct {
	Key    string
	Text   string
	Number int64
	Is     Kind
}

// Kind says which member of an attribute holds its value.
type Kind int

// The kinds of attributes. A flag is a number that is not 0.
const (
	IsText Kind = iota
	IsNumber
	IsFlag
)

// Text returns an attribute with a text.
func Text(key, value string) Attribute { return Attribute{Key: key, Text: value} }

// Number returns an attribute with a number.
func Number[T int | int64](key string, value T) Attribute {
	return Attribute{Key: key, Number: int64(value), Is: IsNumber}
}

// Flag returns an attribute that says yes or no.
func Flag(key string, value bool) Attribute {
	a := Attribute{Key: key, Is: IsFlag}
	if value {
		a.Number = 1
	}
	return a
}

// Span is a span, or nothing: the zero value takes everything and records nothing.
type Span struct {
	of   Recorded
	from Recorder
}

type contextKey struct{}

// Of returns the span that a context carries; nothing if it carries none.
func Of(ctx context.Context) Span {
	s, _ := ctx.Value(contextKey{}).(*Span)
	if s == nil {
		return Span{}
	}
	return *s
}

// BeginRoot begins a span with a recorder; nil records nothing.
func BeginRoot(ctx context.Context, r Recorder, b Beginning) (context.Context, Span) {
	if r == nil {
		return ctx, Span{}
	}
	ctx, recorded := r.Record(ctx, b)
	s := Span{recorded, r}
	return context.WithValue(ctx, contextKey{}, &s), s
}

// Begin begins a step within the span that ctx carries. Where it carries none, nothing is
// recorded.
func Begin(ctx context.Context, name string) (context.Context, Span) {
	return BeginAs(ctx, Beginning{Name: name})
}

// BeginAs does what Begin does for spans of which more is known.
func BeginAs(ctx context.Context, b Beginning) (context.Context, Span) {
	return BeginRoot(ctx, Of(ctx).from, b)
}

// IsKept reports whether attributes are wanted. Callers ask before they make any: that is
// what makes a span that nobody records free.
func (s Span) IsKept() bool { return s.of != nil && s.of.IsKept() }

// Note adds attributes.
func (s Span) Note(attributes ...Attribute) {
	if s.of != nil {
		s.of.Note(attributes)
	}
}

// End ends the span, badly if err is not nil. Of the error only level and code are told:
// its words may be those of an upstream. The log has them.
func (s Span) End(err error) {
	if s.of == nil {
		return
	}
	if err != nil {
		s.of.Fail(levelAndCode(err))
	}
	s.of.End()
}

// EndFailed ends the span badly, with a level and a code.
func (s Span) EndFailed(level, code string) {
	if s.of != nil {
		s.of.Fail(level, code)
		s.of.End()
	}
}

// levelAndCode returns what a span tells of an error.
func levelAndCode(err error) (level, code string) {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return string(f.Level), string(f.Code)
	case errors.Is(err, context.Canceled):
		return "", "INTERRUPTED"
	case errors.Is(err, fault.ErrStale):
		return "", "LEASE_LOST"
	}
	return "", "ERROR"
}

// Traceparent names the span as W3C Trace Context does, for whoever goes on elsewhere;
// empty if nothing is recorded.
func (s Span) Traceparent() string {
	if s.of == nil {
		return ""
	}
	return s.of.Traceparent()
}
