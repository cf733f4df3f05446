// Package fault says what went wrong and what to do next: the four levels of
// §12.1, the retry policy of §4.11 with its backoff arithmetic, and the error
// kinds every store driver translates its vendor errors into.
//
// It decides nothing by where an error came from, only by what the caller can
// do about it, and it never waits: time is the business of the services.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Level is the severity of §12.1.
type Level string

// The four levels.
const (
	Transient Level = "L1" // try again, slower
	Request   Level = "L2" // this request will not work; stop the batch
	Data      Level = "L3" // one item is bad; quarantine it and go on
	Fatal     Level = "L4" // the source cannot be used; stop it and raise an alarm
)

// Code names a fault in tables, logs and metrics. The list is closed.
type Code string

// Codes of faults seen while talking to an upstream.
const (
	Network      Code = "NETWORK"       // no answer, or an answer cut short
	RateLimited  Code = "RATE_LIMITED"  // 429, or a source's own way of saying so
	ServerError  Code = "SERVER_ERROR"  // 5xx
	BadRequest   Code = "BAD_REQUEST"   // 4xx that repeating will not fix
	Unauthorized Code = "UNAUTHORIZED"  // 401, 403: a person has to act
	BadBody      Code = "BAD_BODY"      // status 200 and not the document we were promised
	TooLarge     Code = "TOO_LARGE"     // over a declared cap
	Render       Code = "RENDER"        // the request could not be built
	TokenLost    Code = "TOKEN_LOST"    // a paging token expired or its answer was lost: start the slice over
	TokenLoop    Code = "TOKEN_LOOP"    // the pages lead back to pages that were read
	Unstable     Code = "UNSTABLE"      // no two readings of moving pages agreed
	SchemaChange Code = "SCHEMA_CHANGE" // a whole page could not be understood
	ShortCount   Code = "SHORT_COUNT"   // the upstream announced more items than it delivered
	RejectRate   Code = "REJECT_RATE"   // too many items of the slice were unusable
	Capped       Code = "CAPPED"        // more results than the upstream ever serves
	Budget       Code = "BUDGET"        // a limit of the slice was reached
	NoEnd        Code = "NO_END"        // the window of a request is ignored: cutting it smaller would never end
	ShrunkList   Code = "SHRUNK"        // a list that is read whole lacks too much of what it had
	FilesListed  Code = "FILES_LISTED"  // no fault: a listing was read, and each file in it is a slice of its own
	Poisoned     Code = "POISON_PAGE"   // one page cannot be had while the upstream answers others
	MassGone     Code = "MASS_GONE"     // more stored records are missing upstream than can be deletions
	Refused      Code = "REFUSED"       // our own safety rules refused to send the request
	PartRefused  Code = "PART_REFUSED"  // the upstream gives others, but not this part of a list
	Internal     Code = "INTERNAL"      // a defect of ours
	Attempts     Code = "ATTEMPTS"      // given up after the allowed number of attempts
	LeasesSpent  Code = "LEASES_SPENT"  // leased again and again without one committed batch
	RequestLimit Code = "REQUEST_LIMIT" // the requests that its trigger may spend are used up
	Interrupted  Code = "INTERRUPTED"   // stopped by the operator
	StoreBusy    Code = "STORE_BUSY"    // the database did not take a write, again and again, or was unreachable
	StoreFull    Code = "STORE_FULL"    // no room left to store what was read
)

// Error is a fault with the decision it implies.
type Error struct {
	Level  Level
	Code   Code
	Status int           // HTTP status, if there was one
	Wait   time.Duration // what the server asked for (Retry-After); zero if it did not
	// Unsent reports that the upstream certainly did not act on the request:
	// it was refused before processing (429, dial failure, our own gate).
	// Only then may a request with a non-replayable token be sent again.
	Unsent bool
	// Held is why our own gate did not let it leave, a reason of the rate gate;
	// empty if that is not what happened.
	Held string
	// At is where in the answer the trouble lies: the path that selects nothing.
	At string
	// Lasting says of a transient fault that the next try will most likely meet it
	// too: an unknown host name, a connection that is refused.
	Lasting bool
	Err     error
}

func (e *Error) Error() string {
	text := string(e.Code)
	if e.Status != 0 {
		text = fmt.Sprintf("%s (HTTP %d)", e.Code, e.Status)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// New makes a fault of the level its code stands for.
func New(code Code, err error) *Error {
	return &Error{Level: levelOf(code), Code: code, Err: err}
}

// Newf does what New does, with a formatted reason.
func Newf(code Code, format string, args ...any) *Error {
	return New(code, fmt.Errorf(format, args...))
}

func levelOf(code Code) Level {
	switch code {
	case Network, RateLimited, ServerError, BadBody, TokenLost, TokenLoop, Unstable, ShortCount, Interrupted:
		return Transient
	case Unauthorized, SchemaChange, MassGone, NoEnd:
		return Fatal
	default:
		return Request
	}
}

// As finds the fault in err. An error that was not classified is a defect of ours
// and must not be retried blindly.
func As(err error) *Error {
	var f *Error
	if errors.As(err, &f) {
		return f
	}
	return New(Internal, err)
}

// Errors of a store. Drivers translate vendor errors into these once.
var (
	// ErrStale: the lease epoch moved on; the caller is a zombie and must stop (I7).
	ErrStale = errors.New("lease lost: another worker owns the task")
	// ErrUnjudged: the last slice of a reading of a whole list ends, all others were read, and
	// nobody said yet what the reading is worth.
	ErrUnjudged = errors.New("the other partitions of the list were read meanwhile: the reading as a whole must be judged first")
	// ErrConflict: a unique key is taken by something else.
	ErrConflict = errors.New("conflict with a stored row")
	// ErrNotFound: nothing has this key.
	ErrNotFound = errors.New("not found")
	// ErrBusy: deadlock, lock wait, a busy file, or a server that is unreachable or
	// takes nothing; the step may be redone.
	ErrBusy = errors.New("database busy")
	// ErrFull: no room is left where things are stored. It is the trouble of this
	// process, or of all, never of the task that noticed it.
	ErrFull = errors.New("no room left")
	// ErrDamaged: what is stored is not what was written. It must not be taken for
	// good.
	ErrDamaged = errors.New("the database is damaged")
	// ErrBroken: the database finds its own file damaged, or it is no database.
	ErrBroken = errors.New("the database file is damaged")
	// ErrLost: the file that is written to is not the one at its path any more.
	ErrLost = errors.New("the database file is lost")
	// ErrInvalid: a value does not fit its column or its rule.
	ErrInvalid = errors.New("invalid value")
	// ErrNewerSchema: the database was written by a newer program.
	ErrNewerSchema = errors.New("database schema is newer than this program")
)
