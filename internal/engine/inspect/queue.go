package inspect

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/threshold"
	"github.com/patra-ingest/patra/internal/core/view"
)

// queueHeard is how old the newest length of the queue may be: an older one says nothing about
// now.
const queueHeard = 3 * time.Duration(view.ShortSlot)

// addQueue adds that far more tasks wait than usual. It is of no single source; which waits
// most is one of its facts. Without a process that is the finding.
func (s *statusBuilder) addQueue(ctx context.Context) error {
	if s.query.Source != "" || s.limits.QueueLeast == 0 || s.report.Processes == 0 {
		return nil
	}
	lengths, err := s.from.Lately.QueueLengths(ctx)
	if err != nil || len(lengths) == 0 || s.report.Now.Sub(lengths[len(lengths)-1].At) > queueHeard {
		return err
	}
	surge, over := threshold.FindSurge(lengths, time.Duration(view.ShortSlot), s.limits.QueueFor, int64(s.limits.QueueLeast))
	if !over {
		return nil
	}
	q := &view.Queue{Usual: surge.Usual, Most: surge.Most}
	for _, w := range s.work {
		if w.Operation != string(ingest.Backfill) && w.Waiting > q.OfSource {
			q.Source, q.OfSource = w.Source, w.Waiting
		}
	}
	s.find(view.Finding{Code: view.FoundQueue, Since: surge.Since, Count: int(surge.Waiting), Queue: q, Heals: surge.Shrinks})
	return nil
}
