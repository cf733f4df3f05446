package daemon

import (
	"context"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/engine/operate"
)

// ReleaseRate lets go on what waits for a rate key, and tells the gate of this
// process. That of a pool is released with those of all its members.
func (a *App) ReleaseRate(ctx context.Context, key string, by ingest.Act) (view.RateReleased, error) {
	done, err := a.releaseKey(ctx, key, by)
	if err != nil {
		return done, err
	}
	declared, err := a.Inspect.DeclaredRates(ctx)
	if err != nil || declared[key] == nil {
		return done, err
	}
	for _, member := range declared[key].Members {
		more, err := a.releaseKey(ctx, gate.MemberKey(key, member), by)
		if done = done.With(more); err != nil {
			return done, err
		}
	}
	return done, nil
}

func (a *App) releaseKey(ctx context.Context, key string, by ingest.Act) (view.RateReleased, error) {
	done, err := operate.NewRates(a.store).Release(ctx, key, by)
	if err == nil && !by.Rehearsal {
		a.releaseGates(ctx, key)
	}
	return done, err
}

// releaseGates ends what the gates of this process keep in memory.
func (a *App) releaseGates(ctx context.Context, key string) {
	a.gate.Release(key)
	if a.shared == nil {
		return
	}
	if err := a.shared.Release(ctx, key); err != nil {
		a.config.Log.Warn("a rate key was released, and the shared gate could not be told; it lets requests leave when its own pause is over", "key", key, "error", err)
	}
}

// releaseWatch hears of keys that a person released in another process.
type releaseWatch struct {
	app  *App
	last time.Time // of the newest release that was heard
}

// followReleases follows new releases. Those from before the process began have nothing to
// end: the first look only notes them.
func (w *releaseWatch) followReleases(ctx context.Context) {
	first := w.last.IsZero()
	if first {
		w.last = time.UnixMicro(1)
	}
	releases, err := w.app.store.RateReleases(ctx, w.last)
	if err != nil {
		if first {
			w.last = time.Time{}
		}
		return // looked for again in two seconds
	}
	for key, at := range releases {
		if at.After(w.last) {
			w.last = at
		}
		if !first {
			w.app.releaseGates(ctx, key)
		}
	}
}
