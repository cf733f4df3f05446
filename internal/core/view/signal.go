package view

import "time"

// Signal is a record that a person named, and what became of that.
type Signal struct {
	ID         int64     `json:"id"`
	Source     string    `json:"source"`
	Endpoint   string    `json:"endpoint"`
	ProviderID string    `json:"recordId"`
	Kind       string    `json:"kind"`
	Status     string    `json:"status"`
	Actor      string    `json:"actor"`
	Reason     string    `json:"reason,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`
	NotBefore  time.Time `json:"notBefore,omitzero"` // it waits until then: the record is missing, and a second miss would not count yet
	ClosedAt   time.Time `json:"closedAt,omitzero"`
	BatchID    int64     `json:"batchId,omitempty"` // whose answer closed it
}
