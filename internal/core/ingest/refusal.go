package ingest

import "time"

// Refusals is what a run learned of parts of a list that the upstream refuses.
type Refusals struct {
	Refused  []RefusedPart
	Answered []string // parts that had been refused, and were read
	// TooMany: more parts are refused than can be about the parts. All of them are asked for again.
	TooMany bool
}

// RefusedPart is a part of a list that the upstream refused.
type RefusedPart struct {
	Name   string
	Status int           // HTTP status of the answer
	For    time.Duration // how long it is left alone
}
