package health

import (
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/duration"
)

// Config is the `healing` section of a source: from where on something is wrong enough
// to be acted on. What is zero means the default.
type Config struct {
	ThrottledShare float64           `json:"throttledShare,omitzero" doc:"share of the requests of five minutes that may get a 429 before patra lowers the number of requests at once (default 0.05)"`
	FailedShare    float64           `json:"failedShare,omitzero" doc:"share of the last 50 pages that may need a second try before patra lowers the number of requests at once (default 0.05)"`
	SlowPage       duration.Duration `json:"slowPage,omitzero" doc:"time of an answer above which pages are made smaller (default PT3S)"`
	HeavyPageBytes int64             `json:"heavyPageBytes,omitempty" doc:"bytes of an answer above which pages are made smaller (default 5242880)"`
	MaxPagesSoft   int               `json:"maxPagesSoft,omitempty" doc:"pages of one slice after which the rest of it is cut smaller (default 2000)"`
	EstimateTimes  int               `json:"estimateTimes,omitempty" doc:"how many times the estimated items a slice may hold before the rest of it is cut smaller (default 4)"`
	CircuitAfter   int               `json:"circuitAfter,omitempty" doc:"patra stops asking for a while after this many runs in a row without a usable answer (default 3)"`
}

// defaults of §12.2 and of S appendix B.
var defaults = Config{
	ThrottledShare: 0.05, FailedShare: 0.05, SlowPage: duration.Duration(3 * time.Second), HeavyPageBytes: 5 * mega,
	MaxPagesSoft: 2000, EstimateTimes: 4, CircuitAfter: 3,
}

// WithDefaults returns the section with the default of what is not declared.
func (c Config) WithDefaults() Config {
	return Config{
		orDefault(c.ThrottledShare, defaults.ThrottledShare), orDefault(c.FailedShare, defaults.FailedShare),
		orDefault(c.SlowPage, defaults.SlowPage), orDefault(c.HeavyPageBytes, defaults.HeavyPageBytes),
		orDefault(c.MaxPagesSoft, defaults.MaxPagesSoft), orDefault(c.EstimateTimes, defaults.EstimateTimes), orDefault(c.CircuitAfter, defaults.CircuitAfter),
	}
}

// WithoutDefaults returns only what differs from the defaults: a snapshot that declares
// nothing stays what it was before the section existed (I10).
func (c Config) WithoutDefaults() Config {
	return Config{
		orZero(c.ThrottledShare, defaults.ThrottledShare), orZero(c.FailedShare, defaults.FailedShare),
		orZero(c.SlowPage, defaults.SlowPage), orZero(c.HeavyPageBytes, defaults.HeavyPageBytes),
		orZero(c.MaxPagesSoft, defaults.MaxPagesSoft), orZero(c.EstimateTimes, defaults.EstimateTimes), orZero(c.CircuitAfter, defaults.CircuitAfter),
	}
}

func orDefault[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func orZero[T comparable](value, left T) T {
	if value == left {
		var zero T
		return zero
	}
	return value
}

// Validate refuses what can mean nothing. Numbers below zero are refused when they are
// read, as everywhere.
func (c Config) Validate() error {
	return errors.Join(checkShare("throttledShare", c.ThrottledShare), checkShare("failedShare", c.FailedShare))
}

func checkShare(key string, share float64) error {
	if share > 1 {
		return fmt.Errorf("%s %v: E-SHARE: must be between 0 and 1", key, share)
	}
	return nil
}
