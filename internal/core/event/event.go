// Package event is what others are told of changes of records: the change as the
// outbox holds it, the CloudEvents envelope it travels in, who is to get it, and
// what became of it (I9).
//
// It must never look at a clock or at anything that differs between two attempts:
// an event that is published a second time has the same id and the same bytes.
package event

import (
	"errors"
	"time"
)

// Op is what happened to a record.
type Op string

// The ops.
const (
	Inserted Op = "INSERTED"
	Updated  Op = "UPDATED"
	Removed  Op = "REMOVED"
)

// Status is the state of an event in the outbox.
type Status string

// The states. Publishing is of an older schema: here a relay leases a whole
// dataset, not each row. Skipped is an event that nobody is to get, by the
// declaration or by an operator.
const (
	Pending    Status = "PENDING"
	Publishing Status = "PUBLISHING"
	Published  Status = "PUBLISHED"
	Failed     Status = "FAILED"
	Dead       Status = "DEAD"
	Skipped    Status = "SKIPPED"
)

// Statuses are all states.
func Statuses() []Status {
	return []Status{Pending, Publishing, Failed, Dead, Published, Skipped}
}

// Fault is why an event was not delivered.
type Fault string

// The faults. Unreachable is the receiver's and holds up all events; the others
// are of one event. Behind is an event that waits for an older one of its record.
const (
	Unreachable Fault = "UNREACHABLE"
	Refused     Fault = "REFUSED"
	TooLarge    Fault = "TOO_LARGE"
	BodyGone    Fault = "BODY_GONE"
	Behind      Fault = "BEHIND"
)

// ErrRefused means that a receiver does not want this one event, and would not
// want it if it came again; any other error of a publisher is about the receiver.
var ErrRefused = errors.New("the receiver refused the event")

// ErrTooLarge is a refusal because of the size.
var ErrTooLarge = errors.New("the event is larger than the receiver takes")

// Change is a change of a record as the outbox holds it.
type Change struct {
	Row       int64 // of the outbox
	DatasetID int64
	Source    string
	Endpoint  string
	Op        Op
	Key       string // events of equal keys are published in order
	Identity  []byte // of source, endpoint, id and version; see record.EventKey
	RecordID  string
	Version   int
	BatchID   int64
	StoredAt  time.Time // when the change was committed
	UpdatedAt time.Time // of the record, by its source
	FetchedAt time.Time
	Fields    []byte // mapped fields, JSON
	Payload   []byte // the item as the upstream sent it
	Attempts  int    // how often it was refused
	NoBody    bool   // the row refers to a body that is not there or cannot be trusted
	Damaged   error  // why it cannot
}

// DatasetQueue is the events of one dataset. One relay at a time works on it, under a
// lease with an epoch, so that it alone sees to the order of a record's events.
type DatasetQueue struct {
	DatasetID int64
	Source    string
	Endpoint  string
}

// Held is an event that was not delivered and stands before later ones of its
// record.
type Held struct {
	Row       int64
	Key       string
	Status    Status
	NotBefore time.Time
}

// Due picks the held events that may be tried: their time has come, and none of
// the same key stands before them. held is in the order of rows.
func Due(held []Held, now time.Time) (rows []int64) {
	seen := make(map[string]bool, len(held))
	for _, h := range held {
		if !seen[h.Key] && h.Status == Failed && !h.NotBefore.After(now) {
			rows = append(rows, h.Row)
		}
		seen[h.Key] = true
	}
	return rows
}

// Waves cuts changes into parts in which no key is twice, in order: a publisher
// may then send a part in any order and at once.
func Waves(changes []Change) (out [][]Change) {
	at := make(map[string]int, len(changes))
	for _, c := range changes {
		at[c.Key]++
	}
	if len(at) == len(changes) && len(changes) > 0 {
		return [][]Change{changes}
	}
	clear(at)
	for _, c := range changes {
		n := at[c.Key]
		at[c.Key] = n + 1
		if n == len(out) {
			out = append(out, nil)
		}
		out[n] = append(out[n], c)
	}
	return out
}
