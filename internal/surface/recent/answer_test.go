package recent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/surface/recent"
)

// counted is an answer that tells how often it was computed.
func counted() (*recent.Answer[int], *int, *error) {
	n, fails := new(int), new(error)
	return recent.New(0, func(context.Context, time.Time) (int, error) {
		*n++
		return *n, *fails
	}), n, fails
}

func TestAnAnswerIsSharedAndRenewedWhileNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, n, _ := counted()
		for _, step := range []struct {
			after time.Duration
			want  int
			why   string
		}{
			{0, 1, "the first is computed"},
			{2 * time.Second, 1, "a young one is shared"},
			{2 * time.Second, 1, "one that is a little older is shared, and renewed"},
			{time.Second, 2, "what was renewed is there"},
			{time.Minute, 3, "one that is too old is computed while one waits"},
		} {
			<-time.After(step.after)
			got, err := a.Get(t.Context(), time.Time{})
			if err != nil || got != step.want {
				t.Errorf("%s: got %d, want %d (%v)", step.why, got, step.want, err)
			}
			synctest.Wait()
		}
		a.Forget()
		if got, _ := a.Get(t.Context(), time.Time{}); got != 4 || *n != 4 {
			t.Errorf("after a change the answer is %d, computed %d times", got, *n)
		}
	})
}

func TestAnErrorIsNotKept(t *testing.T) {
	a, n, fails := counted()
	*fails = errors.New("down")
	if _, err := a.Get(t.Context(), time.Time{}); err == nil {
		t.Fatal("no error")
	}
	*fails = nil
	if got, err := a.Get(t.Context(), time.Time{}); err != nil || got != 2 || *n != 2 {
		t.Errorf("after an error: %d, %v", got, err)
	}
}

// What was begun before a change must not be taken for what is there after it.
func TestAnAnswerThatWasForgottenWhileItWasComputedIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, release := 0, make(chan struct{})
		a := recent.New(0, func(context.Context, time.Time) (int, error) {
			n++
			mine := n
			if mine == 2 {
				<-release
			}
			return mine, nil
		})
		_, _ = a.Get(t.Context(), time.Time{})
		<-time.After(4 * time.Second)
		_, _ = a.Get(t.Context(), time.Time{}) // is renewed now
		synctest.Wait()
		a.Forget()
		close(release)
		synctest.Wait()
		if got, _ := a.Get(t.Context(), time.Time{}); got != 3 {
			t.Errorf("answer %d, which was begun before the change", got)
		}
	})
}
