package ingest

import (
	"encoding/json"
	"time"
)

// Lengths of time that were measured are numbers of seconds in JSON, in members
// that end in Seconds, wherever they are shown. Rows that were written before that
// rule have milliseconds; both are read.

type plainRunStats RunStats

// runStatsJSON is RunStats with its lengths of time in seconds. The milliseconds
// hide those of the embedded value.
type runStatsJSON struct {
	*plainRunStats
	Wait      float64  `json:"waitSeconds"`
	Took      float64  `json:"tookSeconds,omitempty"`
	Slowest   float64  `json:"slowestSeconds,omitempty"`
	WaitMS    *float64 `json:"waitMs,omitempty"`
	TookMS    *float64 `json:"tookMs,omitempty"`
	SlowestMS *float64 `json:"slowestMs,omitempty"`
}

// MarshalJSON writes lengths of time in seconds.
func (s RunStats) MarshalJSON() ([]byte, error) {
	return json.Marshal(runStatsJSON{
		plainRunStats: (*plainRunStats)(&s), Wait: toSeconds(s.WaitMS), Took: toSeconds(s.TookMS), Slowest: toSeconds(s.SlowestMS),
	})
}

// UnmarshalJSON reads lengths of time in seconds, or in milliseconds as they were
// written before.
func (s *RunStats) UnmarshalJSON(text []byte) error {
	in := runStatsJSON{plainRunStats: (*plainRunStats)(s)}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	s.WaitMS, s.TookMS, s.SlowestMS = toMillis(in.Wait, in.WaitMS), toMillis(in.Took, in.TookMS), toMillis(in.Slowest, in.SlowestMS)
	return nil
}

func toSeconds(ms int64) float64 { return (time.Duration(ms) * time.Millisecond).Seconds() }

func toMillis(seconds float64, before *float64) int64 {
	if before != nil {
		return int64(*before)
	}
	return int64(seconds*1000 + 0.5)
}
