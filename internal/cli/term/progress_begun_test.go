package term

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// What a run read of a plan of its own counts, also what it had read before the first look; of a
// plan that was begun before, only what came after it.
func TestABarCountsFromWhereTheRunBegan(t *testing.T) {
	look := func(seen int) (p view.Progress) {
		p.PlanID, p.Total, p.Done = 7, 3, 3
		p.Stats.Seen = seen
		return p
	}
	for _, resumed := range []bool{false, true} {
		var out bytes.Buffer
		bar := &Bar{Out: &out, Live: true, Began: time.Now(), columns: func() int { return 0 }}
		want := "36 read"
		if resumed {
			bar.Resume(7)
			want = "31 read"
		}
		bar.Update(look(5))
		bar.Stop(look(36))
		if frames := strings.Split(out.String(), "\r"); !strings.Contains(frames[len(frames)-1], want) {
			t.Errorf("resumed %v: %q, want %s", resumed, out.String(), want)
		}
	}
}
