package gate

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

func TestWaitOfAHeaderTheSourceNames(t *testing.T) {
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		form    fault.WaitForm
		status  int
		header  MapHeader
		want    time.Duration
		already []int // in retryStatus
	}{
		"seconds":                      {"", 429, MapHeader{"X-Wait": "90"}, 90 * time.Second, nil},
		"seconds, said so":             {fault.WaitSeconds, 429, MapHeader{"X-Wait": " 1.5 "}, 1500 * time.Millisecond, nil},
		"milliseconds":                 {fault.WaitMillis, 429, MapHeader{"X-Wait": "2500"}, 2500 * time.Millisecond, nil},
		"a date":                       {fault.WaitDate, 429, MapHeader{"X-Wait": "Sat, 01 Mar 2025 12:01:00 GMT"}, time.Minute, nil},
		"a date that has passed":       {fault.WaitDate, 429, MapHeader{"X-Wait": "Sat, 01 Mar 2025 11:01:00 GMT"}, 0, nil},
		"an instant":                   {fault.WaitEpoch, 429, MapHeader{"X-Wait": "1740830460"}, time.Minute, nil},
		"an instant in milliseconds":   {fault.WaitEpochMillis, 429, MapHeader{"X-Wait": "1740830460000"}, time.Minute, nil},
		"an instant that has passed":   {fault.WaitEpoch, 429, MapHeader{"X-Wait": "1740830000"}, 0, nil},
		"without measure":              {"", 429, MapHeader{"X-Wait": "1e300"}, MaxRetryAfter, nil},
		"negative":                     {"", 429, MapHeader{"X-Wait": "-5"}, 0, nil},
		"not a number":                 {"", 429, MapHeader{"X-Wait": "NaN"}, 0, nil},
		"nonsense":                     {"", 429, MapHeader{"X-Wait": "soon"}, 0, nil},
		"a date where none is read":    {fault.WaitDate, 429, MapHeader{"X-Wait": "60"}, 0, nil},
		"the longer of two":            {"", 429, MapHeader{"X-Wait": "5", "Retry-After": "30"}, 30 * time.Second, nil},
		"the longer of two, turned":    {"", 429, MapHeader{"X-Wait": "50", "Retry-After": "30"}, 50 * time.Second, nil},
		"a status that is not listed":  {"", 500, MapHeader{"X-Wait": "90"}, 0, nil},
		"a status that is listed":      {"", 403, MapHeader{"X-Wait": "90"}, 90 * time.Second, []int{403}},
		"Retry-After of whatever else": {"", 500, MapHeader{"X-Wait": "90", "Retry-After": "7"}, 7 * time.Second, nil},
	} {
		policy := fault.RetryPolicy{WaitHeader: "X-Wait", WaitForm: c.form, RetryStatus: c.already}
		if got := WaitOf(c.header, c.status, policy, now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := WaitOf(MapHeader{"X-Wait": "90", "Retry-After": "7"}, 429, fault.RetryPolicy{}, now); got != 7*time.Second {
		t.Errorf("a header nobody named: %v", got)
	}
}
