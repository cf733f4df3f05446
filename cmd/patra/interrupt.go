package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// sameSignal is how long a signal that comes again is taken for the first one:
// timeout(1) sends it to the process and to its group, and so do some shells.
const sameSignal = time.Second

// untilTold gives a context that ends when the program is told to stop. Later than
// same after that, a second Ctrl-C ends the program at once.
func untilTold(same time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(same, stop) })
	return ctx, stop
}
