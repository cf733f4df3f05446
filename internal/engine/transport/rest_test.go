package transport

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestOnlyLongWaitsAreRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []int
		ctx := WithRest(t.Context(), func(change int) { told = append(told, change) })
		over := beginRest(ctx)
		<-time.After(time.Second)
		over()
		if len(told) != 0 {
			t.Errorf("a second was told as %v", told)
		}
		over = beginRest(ctx)
		<-time.After(time.Minute)
		over()
		if len(told) != 2 || told[0] != 1 || told[1] != -1 {
			t.Errorf("a minute was told as %v", told)
		}
		beginRest(context.Background())() // nobody wants to know
	})
}
