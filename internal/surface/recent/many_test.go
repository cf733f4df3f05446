package recent_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/internal/surface/recent"
)

// Whatever is asked in whatever order, everybody gets the answer to his own question, one is computed anew
// only if it was not among the last few, and no more than these are kept.
func TestManyAnswersAreKeptByWhatWasAsked(t *testing.T) {
	const most = 3
	rapid.Check(t, func(t *rapid.T) {
		computed := 0
		m := recent.NewMany(most, 0, func(_ context.Context, asked string, _ time.Time) (string, error) {
			computed++
			return "of " + asked, nil
		})
		var last []string // the model: what was asked last stands last
		want := 0
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			asked := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "forget"}).Draw(t, "asked")
			if asked == "forget" {
				m.Forget()
				last = nil
				continue
			}
			if at := slices.Index(last, asked); at >= 0 {
				last = slices.Delete(last, at, at+1)
			} else if want++; len(last) == most {
				last = last[1:]
			}
			last = append(last, asked)
			if got, err := m.Get(t.Context(), asked, time.Time{}); err != nil || got != "of "+asked {
				t.Fatalf("%s: %q, %v", asked, got, err)
			}
			if computed != want {
				t.Fatalf("computed %d times, want %d", computed, want)
			}
		}
	})
}
