package fault

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAsFindsWrappedFault(t *testing.T) {
	inner := Newf(RateLimited, "slow down")
	wrapped := fmt.Errorf("page 3: %w", inner)
	if As(wrapped) != inner || As(wrapped).Level != Transient {
		t.Fatal("a wrapped fault is not recognised")
	}
	unknown := As(errors.New("who knows"))
	if unknown.Code != Internal || unknown.Level != Request {
		t.Fatalf("an unclassified error must be an internal fault that is not retried, got %v", unknown)
	}
}

func TestClassifyStatus(t *testing.T) {
	policy := RetryPolicy{RetryStatus: []int{409}, GiveUpStatus: []int{501}}.WithDefaults()
	for _, tc := range []struct {
		status int
		level  Level
		code   Code
		unsent bool
	}{
		{429, Transient, RateLimited, true},
		{408, Transient, ServerError, false},
		{500, Transient, ServerError, false},
		{503, Transient, ServerError, false},
		{501, Request, ServerError, false},
		{409, Transient, BadRequest, false},
		{400, Request, BadRequest, false},
		{404, Request, BadRequest, false},
		{401, Fatal, Unauthorized, false},
		{403, Fatal, Unauthorized, false},
		{302, Request, BadRequest, false},
	} {
		f := policy.ClassifyStatus(tc.status)
		if f == nil || f.Level != tc.level || f.Code != tc.code || f.Unsent != tc.unsent || f.Status != tc.status {
			t.Errorf("status %d: got %+v", tc.status, f)
		}
	}
	if f := policy.ClassifyStatus(200); f != nil {
		t.Errorf("200 is not a fault: %v", f)
	}
}

func TestBackoffGrowsWithinBounds(t *testing.T) {
	policy := RetryPolicy{}.WithDefaults()
	rapid.Check(t, func(t *rapid.T) {
		failed := rapid.IntRange(1, 200).Draw(t, "failed")
		random := rapid.Float64Range(0, 0.999).Draw(t, "random")
		got := policy.Backoff(failed, random)
		low := time.Duration(0.8 * float64(policy.InitialDelay.Std()))
		high := time.Duration(1.2 * float64(policy.MaxDelay.Std()))
		if got < low || got > high {
			t.Fatalf("backoff(%d, %v) = %v outside [%v, %v]", failed, random, got, low, high)
		}
		if next := policy.Backoff(failed+1, random); next < got {
			t.Fatalf("backoff shrank from %v to %v", got, next)
		}
	})
}
