package alert

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

// DeliveryStatus is how a message to one receiver stands.
type DeliveryStatus string

// The statuses of deliveries.
const (
	Queued    DeliveryStatus = "QUEUED"    // to be sent, or sent again after a failure
	Sent      DeliveryStatus = "SENT"      // the receiver has it
	GivenUp   DeliveryStatus = "GIVEN_UP"  // the receiver refused it, or could not be reached for too long
	Discarded DeliveryStatus = "DISCARDED" // its receiver is not declared any more, or a newer message says the same
)

// DeliveryStatuses lists all of them.
func DeliveryStatuses() []string {
	return []string{string(Queued), string(Sent), string(GivenUp), string(Discarded)}
}

// MostTries is how often a message is sent until it is given up: with the waits between
// them for about 14 hours.
const MostTries = 20

// UndeliveredAfter is how long a message may fail until that is a finding of its own.
const UndeliveredAfter = 15 * time.Minute

var betweenTries = fault.Backoff{First: 30 * time.Second, Growth: 2, Longest: time.Hour}

// Delivery is a message on its way to one receiver.
type Delivery struct {
	ID       int64          `json:"id"`
	Receiver string         `json:"receiver"`
	Message  Message        `json:"message"`
	Status   DeliveryStatus `json:"status"`
	Tries    int            `json:"tries"`
	DueAt    time.Time      `json:"dueAt,omitzero"` // of the next try
	Error    string         `json:"error,omitempty"`
	QueuedAt time.Time      `json:"queuedAt"`
	SentAt   time.Time      `json:"sentAt,omitzero"`
}

// AfterTry returns how a delivery stands after one more try. A refusal is final: the same
// bytes would be refused again, and what waits behind them could not pass.
func (d Delivery) AfterTry(now time.Time, failure string, refused bool) Delivery {
	d.Tries++
	d.DueAt = time.Time{}
	switch {
	case failure == "":
		d.Status, d.SentAt, d.Error = Sent, now, ""
	case refused || d.Tries >= MostTries:
		d.Status, d.Error = GivenUp, failure
	default:
		d.Status, d.Error, d.DueAt = Queued, failure, now.Add(betweenTries.After(d.Tries))
	}
	return d
}

// Lease is the right of one process to decide and send.
type Lease struct {
	Name, Owner string
	Epoch       int64
}
