package dispatch

import (
	"log/slog"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// holdups tells the log when an endpoint or a rate key is left alone and when no
// more, once each: dispatch looks every second.
type holdups struct {
	log   *slog.Logger
	known map[ingest.Partition]ingest.Holdup
}

func newHoldups(log *slog.Logger) holdups {
	return holdups{log, map[ingest.Partition]ingest.Holdup{}}
}

// noteHeld compares what is held up now with what was told before.
func (h holdups) noteHeld(queues []ingest.Queue, now time.Time) {
	for _, q := range queues {
		was, told := h.known[q.Partition]
		is, held := q.Holdup(now)
		about := append(worklog.OfPartition(q.Partition), "rateKey", q.RateKey)
		switch {
		case held && (!told || is.Reason != was.Reason || is.Until.After(was.Until.Add(grace))):
			h.known[q.Partition] = is
			h.log.Warn("no tasks are taken", append(about, "reason", is.Reason, "until", is.Until, "detail", is.Detail)...)
		case !held && told:
			delete(h.known, q.Partition)
			h.log.Info("tasks are taken again", append(about, "reason", was.Reason)...)
		}
	}
}

// grace keeps a wait that is lengthened bit by bit from filling the log.
const grace = time.Minute
