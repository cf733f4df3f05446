package view

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
)

type plainWorkSum WorkSum

// MarshalJSON writes lengths of time in seconds, and the shares that follow.
func (s WorkSum) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		plainWorkSum
		Took           float64  `json:"tookSeconds"`
		Slowest        float64  `json:"slowestSeconds"`
		Mean           float64  `json:"meanSeconds"`
		P50            *float64 `json:"p50Seconds,omitempty"`
		P95            *float64 `json:"p95Seconds,omitempty"`
		P99            *float64 `json:"p99Seconds,omitempty"`
		Waited         float64  `json:"waitSeconds"`
		ErrorShare     float64  `json:"errorShare"`
		ThrottledShare float64  `json:"throttledShare"`
		FailureShare   float64  `json:"failureShare"`
	}{plainWorkSum(s), s.Took.Seconds(), s.Slowest.Seconds(), s.MeanLatency().Seconds(), s.percentileSeconds(50), s.percentileSeconds(95), s.percentileSeconds(99), s.Waited.Seconds(), s.ErrorShare(), s.ThrottledShare(), s.FailureShare()})
}

// percentileSeconds returns a percentile in seconds, nil if it is not known.
func (s WorkSum) percentileSeconds(percent float64) *float64 {
	if s.Latencies.Answers() == 0 {
		return nil
	}
	seconds := s.Percentile(percent).Seconds()
	return &seconds
}

// QueueState is how the work of a partition stands, and how it went lately (§14.7).
type QueueState struct {
	Source       string           `json:"source"`
	Endpoint     string           `json:"endpoint"`
	Operation    ingest.Operation `json:"operation"`
	Waiting      int              `json:"waiting"`
	Running      int              `json:"running"`
	CoolingUntil time.Time        `json:"coolingUntil,omitzero"`
	// Recent is what its runs did in the range; nil if none ended in it.
	Recent *WorkSum `json:"recent"`
	// TakenPerHour is how many tasks were taken and came to an end of their run.
	TakenPerHour float64 `json:"takenPerHour"`
}
