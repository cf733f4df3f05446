package pause

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPauseLastsAsLongAsItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := For(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := Until(t.Context(), began.Add(90*time.Minute)); err != nil || time.Since(began) != 90*time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

func TestAPauseEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why, began := errors.New("no longer needed"), time.Now()
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(why) })
		if err := For(ctx, time.Hour); !errors.Is(err, why) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if err := Until(ctx, began); err != nil {
			t.Errorf("an instant that has passed: %v", err)
		}
		if err := For(ctx, 0); err != nil {
			t.Errorf("no pause at all: %v", err)
		}
	})
}
