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
	EndedAt     time.Time `json:"endedAt"`
}
