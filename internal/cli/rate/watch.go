package rate

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
	"github.com/patra-ingest/patra/internal/daemon"
)

func newRateWatch(e *term.Env) *cobra.Command {
	var every time.Duration
	var times int
	c := &cobra.Command{
		Use:   "watch [KEY]",
		Short: "Follow rate keys until interrupted",
		Long: `Follow all rate keys, or one. On a terminal the table is drawn anew; elsewhere a
line is written for every key that has changed, and with -o json an object on a line
of its own. What is shown is as old as the reports of the processes at work, a few
seconds. Ctrl-C ends it with exit code 0.`,
		Example: `  patra rate watch
  patra rate watch crossref --every 5s
  patra rate watch -o json --times 3`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if every < term.ShortestWatch {
				return term.Usagef("--every %s: expected %s or more", every, term.ShortestWatch)
			}
			if times < 0 {
				return term.Usagef("--times %d: expected 1 or more, or 0 for no end", times)
			}
			return e.ReadStore(cmd.Context(), func(app *daemon.App) error {
				w := &rateWatch{Env: e, app: app, key: strings.Join(args, ""), live: term.IsTerminal(e.Out) && os.Getenv("TERM") != "dumb", told: map[string]string{}}
				return w.watchKeys(cmd.Context(), every, times)
			})
		},
	}
	c.Flags().DurationVar(&every, "every", 2*time.Second, "how often to look")
	c.Flags().IntVar(&times, "times", 0, "stop after this many looks (default: run until interrupted)")
	return c
}

type rateWatch struct {
	*term.Env
	app  *daemon.App
	key  string // empty: all
	live bool
	told map[string]string // the last line of each key
}

func (w *rateWatch) watchKeys(ctx context.Context, every time.Duration, times int) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for looks := 1; ; looks++ {
		if err := w.lookOnce(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if looks == times {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil // that is how a watch ends
		case <-ticker.C:
		}
	}
}

func (w *rateWatch) lookOnce(ctx context.Context) error {
	keys, err := w.readKeys(ctx)
	if err != nil {
		return err
	}
	if w.live && w.Output != "json" {
		return w.drawKeys(keys)
	}
	for _, k := range keys {
		if err := w.tellKey(k); err != nil {
			return err
		}
	}
	return nil
}

func (w *rateWatch) readKeys(ctx context.Context) ([]view.RateKey, error) {
	if w.key == "" {
		return w.app.Inspect.RateKeys(ctx)
	}
	k, err := rateKey(ctx, w.app, w.key)
	return []view.RateKey{k}, err
}

// drawKeys begins at the top of an empty screen.
func (w *rateWatch) drawKeys(keys []view.RateKey) error {
	fmt.Fprint(w.Out, "\x1b[H\x1b[2J")
	if w.key != "" {
		return showRate(w.Env, keys[0])
	}
	return term.PrintList(w.Env, keys, rateColumns())
}

// tellKey writes a key that has changed.
func (w *rateWatch) tellKey(k view.RateKey) error {
	at := k.At
	k.At = time.Time{}
	text, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if w.Output != "json" {
		text = []byte(rateLine(k))
	}
	if w.told[k.Key] == string(text) {
		return nil
	}
	w.told[k.Key] = string(text)
	if w.Output == "json" {
		k.At = at
		line, err := json.Marshal(k)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w.Out, "%s\n", line)
		return err
	}
	_, err = fmt.Fprintf(w.Out, "%s %s\n", wording.SecondText(at), term.Printable(string(text)))
	return err
}

// rateLine is a key on one line.
func rateLine(k view.RateKey) string {
	under, waiting := 0, 0
	for _, r := range k.Processes {
		under, waiting = under+r.State.InFlight, waiting+r.State.Waiting
	}
	return fmt.Sprintf("%s: %s of %s; %d under way, %d waiting; quota left %s; %s",
		k.Key, rateNow(k), wording.RateLimitsText(k.Limits), under, waiting, quotaLeft(k), strings.Join(wording.RateState(k), "; "))
}
