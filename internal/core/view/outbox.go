package view

import "time"

// Outgoing is an event of the outbox as people see it.
type Outgoing struct {
	ID          int64     `json:"id"`
	Event       string    `json:"event"` // the id that receivers know
	Source      string    `json:"source"`
	Endpoint    string    `json:"endpoint"`
	Op          string    `json:"op"`
	RecordID    string    `json:"recordId"`
	Version     int       `json:"version"`
	Status      string    `json:"status"`
	Attempts    int       `json:"attempts"`
	NextTryAt   time.Time `json:"nextTryAt,omitzero"`
	ErrorCode   string    `json:"errorCode,omitempty"`
	Error       string    `json:"error,omitempty"`
	StoredAt    time.Time `json:"storedAt"`
	PublishedAt time.Time `json:"publishedAt,omitzero"`
	BatchID     int64     `json:"batchId"`
}

// Delivery is one attempt of a relay to deliver some events.
type Delivery struct {
	ID          int64     `json:"id"`
	Source      string    `json:"source"`
	Endpoint    string    `json:"endpoint"`
	Destination string    `json:"destination"`
	Status      string    `json:"status"`
	First       int64     `json:"first"` // rows of the outbox
	Last        int64     `json:"last"`
	Events      int       `json:"events"`
	Delivered   int       `json:"delivered"`
	ErrorCode   string    `json:"errorCode,omitempty"`
	Error       string    `json:"error,omitempty"`
	Relay       string    `json:"relay"`
	Epoch       int64     `json:"epoch"`
	StartedAt   time.Time `json:"startedAt"`
	EndedAt     time.Time `json:"finishedAt"`
}

// Backlog is how the events of a dataset stand.
type Backlog struct {
	Source   string    `json:"source"`
	Endpoint string    `json:"endpoint"`
	Waiting  int       `json:"waiting"`          // for a relay
	More     bool      `json:"more,omitempty"`   // more than that: nobody counted on
	Since    time.Time `json:"since,omitzero"`   // when the oldest of them was stored, or put back by a replay
	Failed   int       `json:"failed"`           // refused, or behind one that was; tried again automatically
	Dead     int       `json:"dead"`             // left to an operator
	Relayed  bool      `json:"relayed"`          // a relay has worked on the dataset, as far as the delivery log goes back
	TriedAt  time.Time `json:"triedAt,omitzero"` // when one did last
	Away     []Away    `json:"away,omitempty"`   // receivers that could not be reached when they were last tried
}

// Away is a receiver that could not be reached.
type Away struct {
	Destination string    `json:"destination"`
	TriedAt     time.Time `json:"triedAt"`
	Error       string    `json:"error"`
}

// publisherGone is after how long without a try nobody counts as the publisher of a
// dataset any more. It is longer than any timetable of `events publish`, and than
// anybody needs to notice that a relay is down.
const publisherGone = 7 * 24 * time.Hour

// HasPublisher reports whether events have a publisher: a relay that works now, or
// one that tried lately. Without one, events that wait are what was asked for, and
// not a finding.
func (b Backlog) HasPublisher(relays int, now time.Time) bool {
	return relays > 0 || b.Relayed && now.Sub(b.TriedAt) < publisherGone
}

// IsEmpty reports that nothing waits and nothing failed.
func (b Backlog) IsEmpty() bool { return b.Waiting == 0 && b.Failed == 0 && b.Dead == 0 }
