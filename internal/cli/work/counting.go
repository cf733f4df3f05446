package work

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/cli/reason"
	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// hintCounting says on stderr what a command waits for that plans: it may ask the
// upstream how much there is, and that may take long or fail again and again. The
// context it returns is the one to plan under; the function ends the hints.
func hintCounting(ctx context.Context, e *term.Env, source, after string) (counting context.Context, planned func()) {
	counting, failures := daemon.HearFailures(ctx)
	still := reason.NewStallHint(func() string {
		text := fmt.Sprintf("not planned yet after %s: %s is asked how much there is to read", reason.StallAfter, source)
		if failed := failures(); failed.Tries > 0 {
			text += fmt.Sprintf("; %s failed, the last with %s", reason.TriesText(failed.Tries), wording.Shorten(failed.Last, 300))
		}
		return text + after
	}, e.Hint)
	watching, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(betweenLooks)
		defer ticker.Stop()
		for {
			still.Look(time.Now(), "")
			select {
			case <-watching.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	var once sync.Once
	return counting, func() {
		once.Do(func() {
			stop()
			<-ended
		})
	}
}

// betweenLooks is how often a wait is looked at.
const betweenLooks = time.Second
