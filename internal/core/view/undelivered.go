package view

import "time"

// Undelivered is a receiver of alerts that messages do not reach.
type Undelivered struct {
	Receiver string    `json:"receiver"`
	Messages int       `json:"messages"` // that it should have
	GivenUp  int       `json:"givenUp"`  // of them, those that are not tried any more
	Since    time.Time `json:"since"`
	Error    string    `json:"error,omitempty"` // of the newest
}
