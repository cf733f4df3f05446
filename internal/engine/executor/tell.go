package executor

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/privacy"
	"github.com/patra-ingest/patra/internal/engine/transport"
	"github.com/patra-ingest/patra/internal/engine/worklog"
)

// sampleSize is how much of an item or of an answer stands in a line.
const sampleSize = 200

// tellBatch logs a batch that was stored: a sample of those that went well, and each one
// that brought rejects which are news (§14.5).
func (r *taskRun) tellBatch(ctx context.Context, b *bundle, stored ingest.BatchResult) {
	if stored.Stats.Quarantined > stored.Stats.Known && len(b.rejects) > 0 {
		r.tellRejects(b, stored.Stats)
	}
	if !r.log.Enabled(ctx, slog.LevelInfo) || !worklog.Sampled(stored.BatchID, r.executor.config.LogSample) {
		return
	}
	s := stored.Stats
	about := []any{
		"page", b.before.Pages + 1, "seen", s.Seen, "inserted", s.Inserted, "updated", s.Updated, "unchanged", s.Unchanged, "gone", s.Gone,
		"duplicate", s.Duplicate, "outside", s.Outside, "excluded", s.Excluded, "quarantined", s.Quarantined, "late", s.Late, "why", b.why,
	}
	if b.call != nil {
		about = append(append(about, answerOf(b.call)...), "requests", b.call.Notes.Requests(), "waited", b.call.Notes.Waited)
	}
	r.line().Info("batch stored", about...)
}

// tellRejects logs that items of a batch could not be read, with one of them: where the
// trouble lies in it, and how it begins.
func (r *taskRun) tellRejects(b *bundle, s ingest.BatchStats) {
	first := b.rejects[0]
	r.line().Warn("items were rejected", "rejected", s.Quarantined, "known", s.Known, "seen", s.Seen, "code", string(first.Reason), "at", first.Path, "detail", first.Detail,
		"item", first.ProviderID, "sample", privacy.MaskOf(first.Raw, sampleSize), "sha256", fingerprint.Bytes(first.Raw), "next", "patra quarantine list")
}

// tellLostPage logs a page that did not come. What may come with the next try is no
// warning: the run tells if it does not.
func (r *taskRun) tellLostPage(ctx context.Context, c *transport.Call, err error) {
	var f *fault.Error
	if ctx.Err() != nil || !errors.As(err, &f) {
		return
	}
	level := slog.LevelWarn
	if f.Level == fault.Transient {
		level = slog.LevelInfo
	}
	r.line().Log(ctx, level, "no page", append(describeFault(f, c), "requests", c.Notes.Requests(), "waited", c.Notes.Waited)...)
}

// describeFault tells a fault in full: its level, where in the answer it lies, what was
// asked and how the answer begins. Nothing of it is longer than the evidence of a batch.
func describeFault(f *fault.Error, c *transport.Call) []any {
	out := []any{"fault", string(f.Level), "code", string(f.Code), "at", f.At, "error", f.Error()}
	if c == nil {
		return out
	}
	out = append(append(out, "url", c.Notes.Request.URL), answerOf(c)...)
	if c.Notes.Response != nil {
		out = append(out, "sha256", c.Notes.Response.SHA256, "sample", privacy.MaskOf([]byte(c.Notes.Response.Sample), sampleSize))
	}
	return out
}

// answerOf tells of the last answer what is worth comparing.
func answerOf(c *transport.Call) []any {
	answer := c.Notes.Response
	if answer == nil {
		return nil
	}
	return []any{"httpStatus", answer.Status, "bytes", answer.Bytes, "took", time.Duration(answer.TookMS) * time.Millisecond}
}

// tellEnd logs how a run ended. One that failed and is tried again is a warning, a task
// that is given up an error, unless its source was stopped: that has its own alarm, and
// all who fail meanwhile would repeat it (§12.6).
func (r *taskRun) tellEnd(ctx context.Context, o ingest.Outcome) {
	level, text := slog.LevelInfo, "run finished"
	switch {
	case o.Task == ingest.TaskFailed && !r.stopped:
		level, text = slog.LevelError, worklog.GivenUp
	case o.Run == ingest.RunFailed:
		level = slog.LevelWarn
	}
	about := []any{
		"window", r.work.Window.String(), "status", string(o.Run), "becomes", string(o.Task), "seen", r.stats.Seen, "inserted", r.stats.Inserted,
		"updated", r.stats.Updated, "quarantined", r.stats.Quarantined, "batches", r.stats.Pages, "requests", r.stats.Requests, "retries", r.stats.Retries, "throttled", r.stats.Throttled,
	}
	if o.Error != "" {
		about = append(about, "code", o.Code, "error", o.Error, "waits", string(o.Waits))
	}
	if !o.NotBefore.IsZero() {
		about = append(about, "notBefore", o.NotBefore)
	}
	r.line().Log(ctx, level, text, about...)
}

// tellLostLease says that another process has the task now. Nothing of this run is
// written any more (I7).
func tellLostLease(log *slog.Logger, lost ingest.Lease, err error) {
	if errors.Is(err, fault.ErrStale) {
		log.Warn("lease lost", "epoch", lost.Epoch)
	}
}
