package work

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

// owedAgain is what of a watermark failed and is still owed, and when it is tried
// again: no message may promise more than that.
type owedAgain struct {
	view.Owed
	known bool // somebody looked
}

// findOwed looks up what failed of the watermark of a source.
func findOwed(ctx context.Context, app *daemon.App, c *spec.Compiled) (owedAgain, error) {
	owed, err := app.Inspect.Owed(ctx, c)
	return owedAgain{owed, err == nil}, err
}

// nextText says what happens to it, and what a person can do.
func (o owedAgain) nextText(source string) string {
	if o.OnlyCapped() {
		return wording.CappedNext(o.Capped[0], source)
	}
	text := fmt.Sprintf("the next harvest tries them again, or now: patra harvest %s --retry", source)
	if !o.RetryFrom.IsZero() {
		text = fmt.Sprintf("a harvest from %s on tries them again; now: patra harvest %s --retry", wording.SecondText(o.RetryFrom), source)
	}
	if len(o.Capped) > 0 {
		text += "; but " + wording.CappedNext(o.Capped[0], source)
	}
	return text
}

func (s Summary) readSinceText() string {
	if s.result().ReadSince() == 0 {
		return ""
	}
	return "; what failed before was read since"
}
