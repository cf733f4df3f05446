package fault

import (
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// RetryPolicy is the `retry` section of a source (§4.11). Fields that say
// zero:"ok" are stored even if zero: whoever reads them back must not take a
// written zero for a missing value.
type RetryPolicy struct {
	MaxAttempts   int               `json:"maxAttempts,omitempty" doc:"tries of one request, the first included (default 5)"`
	InitialDelay  duration.Duration `json:"initialDelay" zero:"ok" doc:"wait before the second try (default PT0.1S; PT0S for none)"`
	MaxDelay      duration.Duration `json:"maxDelay,omitempty" doc:"longest wait between two tries (default PT30S)"`
	Multiplier    float64           `json:"multiplier,omitempty" doc:"growth of the wait from try to try (default 2)"`
	Jitter        float64           `json:"jitter" zero:"ok" doc:"random share of the wait, 0 to 1 (default 0.2; 0 for none)"`
	RetryStatus   []int             `json:"retryStatus,omitempty" doc:"HTTP statuses worth another try (default 408, 429 and every 5xx)"`
	GiveUpStatus  []int             `json:"giveUpStatus,omitempty" doc:"HTTP statuses never tried again; 401 and 403 in it fail the task and no longer stop the source"`
	IgnoreStatus  []int             `json:"ignoreStatus,omitempty" doc:"HTTP statuses with which a DETAIL endpoint says that it has no such id (default 404 and 410); details.missing says what becomes of the id. 410 announces a deletion, the others are misses"`
	WaitHeader    string            `json:"waitHeader,omitempty" doc:"header that says how long to wait, besides Retry-After, which is always read; it is read for a 429 and for statuses in retryStatus, and the longer of the two counts"`
	WaitForm      WaitForm          `json:"waitForm,omitempty" enum:"SECONDS,MILLIS,DATE,EPOCH,EPOCH_MILLIS" doc:"what waitHeader holds: a number of seconds or milliseconds, a date, or an instant in seconds or milliseconds since 1970 (default SECONDS)"`
	RetryAfterCap duration.Duration `json:"retryAfterCap" zero:"ok" doc:"longest Retry-After to wait for inside one task (default PT2M; PT0S for none); a longer one puts the task back into the queue"`
	TaskAttempts  int               `json:"taskAttempts,omitempty" doc:"runs of one task before it is FAILED (default 5)"`
}

// WithDefaults fills what the source left open.
func (p RetryPolicy) WithDefaults() RetryPolicy {
	set := func(d *duration.Duration, std time.Duration) {
		if *d == 0 {
			*d = duration.Duration(std)
		}
	}
	if p.MaxAttempts == 0 {
		p.MaxAttempts = 5
	}
	if p.TaskAttempts == 0 {
		p.TaskAttempts = 5
	}
	if p.Multiplier == 0 {
		p.Multiplier = 2
	}
	if p.Jitter == 0 {
		p.Jitter = 0.2
	}
	set(&p.InitialDelay, 100*time.Millisecond)
	set(&p.MaxDelay, 30*time.Second)
	set(&p.RetryAfterCap, 2*time.Minute)
	return p
}

// WaitForm is what a header that asks to wait is written as.
type WaitForm string

// Forms of such a header. An empty form is SECONDS.
const (
	WaitSeconds     WaitForm = "SECONDS"
	WaitMillis      WaitForm = "MILLIS"
	WaitDate        WaitForm = "DATE"
	WaitEpoch       WaitForm = "EPOCH"
	WaitEpochMillis WaitForm = "EPOCH_MILLIS"
)

// Ignores reports that a status says of the one id that was asked for that there
// is none. It is about ids only: a list that is answered so was not read.
func (p RetryPolicy) Ignores(status int) bool {
	if len(p.IgnoreStatus) > 0 {
		return slices.Contains(p.IgnoreStatus, status)
	}
	return (status == 404 || status == 410) && !slices.Contains(p.GiveUpStatus, status) && !slices.Contains(p.RetryStatus, status)
}

// AsksToWait reports that the header a source names is read of an answer: many
// send it with every answer, and it must not hold up what merely failed.
func (p RetryPolicy) AsksToWait(status int) bool {
	return status == 429 || slices.Contains(p.RetryStatus, status)
}

// Backoff returns the wait before try n+1 after n failed tries (n from 1).
// random is a number in [0,1) that spreads many workers over the jitter range.
func (p RetryPolicy) Backoff(failed int, random float64) time.Duration {
	return Backoff{First: p.InitialDelay.Std(), Growth: p.Multiplier, Longest: p.MaxDelay.Std(), Jitter: p.Jitter}.Spread(failed, random)
}

// ClassifyStatus turns an HTTP status into a fault, or nil for success.
func (p RetryPolicy) ClassifyStatus(status int) *Error {
	var f *Error
	switch {
	case status >= 200 && status < 300:
		return nil
	case status == 429:
		f = New(RateLimited, nil)
		f.Unsent = true
	case status == 401 || status == 403:
		f = New(Unauthorized, nil)
	case status >= 500, status == 408:
		f = New(ServerError, nil)
	default:
		f = New(BadRequest, nil)
	}
	f.Status = status
	if slices.Contains(p.RetryStatus, status) {
		f.Level = Transient
	}
	if slices.Contains(p.GiveUpStatus, status) {
		f.Level = Request
	}
	return f
}
