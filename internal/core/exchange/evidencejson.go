package exchange

import (
	"encoding/json"
	"math"
	"time"
)

// Lengths of time are seconds in JSON, in members that end in Seconds. What was
// kept before that rule has milliseconds; both are read.

type plainResponseDigest ResponseDigest

type responseDigestJSON struct {
	*plainResponseDigest
	Took   float64  `json:"tookSeconds"`
	TookMS *float64 `json:"tookMs,omitempty"` // hides that of the embedded value
}

// MarshalJSON writes lengths of time in seconds.
func (d ResponseDigest) MarshalJSON() ([]byte, error) {
	return json.Marshal(responseDigestJSON{plainResponseDigest: (*plainResponseDigest)(&d), Took: (time.Duration(d.TookMS) * time.Millisecond).Seconds()})
}

// UnmarshalJSON reads lengths of time in seconds, or in milliseconds as they were
// written before.
func (d *ResponseDigest) UnmarshalJSON(text []byte) error {
	in := responseDigestJSON{plainResponseDigest: (*plainResponseDigest)(d)}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	d.TookMS = int64(math.Round(in.Took * 1000))
	if in.TookMS != nil {
		d.TookMS = int64(*in.TookMS)
	}
	return nil
}
