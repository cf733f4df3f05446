package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// book is a store in memory that holds one lease and judges it by its clock, so
// that hours of it can be tested in no time.
type book struct {
	GenerationStore // no list of it is read whole
	ParentReader    // or has parts that are stored records
	RefusalReader   // or are refused
	mu              sync.Mutex
	until           time.Time
	renewed         []time.Time
	lapsed          bool
	renew           func(ctx context.Context, n int) error // what becomes of the n-th renewal
	cancel          bool
	commits         int
	finished        []ingest.Outcome
	slow            time.Duration // of starting and ending a run
}

func (b *book) extend(by time.Duration) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.until.IsZero() && time.Now().After(b.until) {
		b.lapsed = true
	}
	b.until = time.Now().Add(by)
	return nil
}

func (b *book) Now(ctx context.Context) (time.Time, error) { return time.Now(), ctx.Err() }

func (b *book) StartRun(ctx context.Context, _ ingest.Work, lease time.Duration) (ingest.Run, error) {
	if err := wait(ctx, b.slow); err != nil {
		return ingest.Run{}, err
	}
	return ingest.Run{ID: 1, AttemptNo: 1}, b.extend(lease)
}

func (b *book) OwedFiles(context.Context, int64, files.Take) ([]files.Owed, error) { return nil, nil }

func (b *book) CountActive(context.Context, int64, int) (int, error) { return 0, nil }

func (b *book) PackBatch([]record.Incoming, []byte) []ingest.PackedPart { return nil }

func (b *book) LeaveOutItems([]record.Incoming, []byte) []byte { return nil }

func (b *book) CommitBatch(_ context.Context, in ingest.BatchCommit) (ingest.BatchResult, error) {
	b.mu.Lock()
	b.commits++
	b.mu.Unlock()
	return ingest.BatchResult{Stats: ingest.BatchStats{Seen: in.Seen, Inserted: in.Seen}}, b.extend(in.Extend)
}

func (b *book) FinishRun(ctx context.Context, f ingest.Finish) error {
	if err := wait(ctx, b.slow); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finished = append(b.finished, f.Outcome)
	return nil
}

func (b *book) Renew(ctx context.Context, _ ingest.Lease, by time.Duration) (ingest.Held, error) {
	b.mu.Lock()
	b.renewed = append(b.renewed, time.Now())
	n, cancel := len(b.renewed), b.cancel
	b.mu.Unlock()
	if b.renew != nil {
		if err := b.renew(ctx, n); err != nil {
			return ingest.Held{}, err
		}
	}
	return ingest.Held{Until: time.Now().Add(by), Cancel: cancel}, b.extend(by)
}

func (b *book) RequestReslice(context.Context, ingest.ResliceRequest) error { return nil }
func (b *book) TakeRequests(context.Context, ingest.RequestTake) (ingest.RequestGrant, error) {
	return ingest.RequestGrant{}, nil
}

func (b *book) LookAtCandidates(context.Context, ingest.CandidateLook) (ingest.CandidatePage, error) {
	return ingest.CandidatePage{Last: true}, nil
}

func (b *book) Parents(context.Context, ingest.ParentLook) ([]ingest.Parent, string, bool, error) {
	return nil, "", true, nil
}

func (b *book) Witnesses(context.Context, int64, [16]byte, int) ([]string, error) { return nil, nil }

func (b *book) CancelPlan(context.Context, int64, string, string) (view.PlanCancel, error) {
	return view.PlanCancel{}, nil
}

func (b *book) PauseSource(context.Context, ingest.Scope, ingest.Act) (ingest.Pause, bool, error) {
	return ingest.Pause{}, false, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// slowly is an upstream whose single page takes its time.
type slowly struct {
	takes time.Duration
	sent  int
	ended time.Time
}

func (s *slowly) Do(ctx context.Context, c *transport.Call) (*exchange.Response, error) {
	s.sent++
	defer func() { s.ended = time.Now() }()
	if err := wait(ctx, s.takes); err != nil {
		return nil, context.Cause(ctx)
	}
	response := &exchange.Response{Status: 200, Body: []byte(`{"status":"ok","message":{"total-results":0,"items":[]}}`)}
	return response, c.Accept(response)
}

func taskOf(t *testing.T) ingest.Work {
	t.Helper()
	var w world
	w.T = t
	program := w.compile("http.baseUrl=https://upstream.example")
	s, err := json.Marshal(slicing.Spec{Budget: slicing.Budget{MaxRequests: 10, MaxRecords: 10, MaxDurationSec: 1e6}})
	w.must(err)
	day := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	return ingest.Work{Lease: ingest.Lease{TaskID: 1, Epoch: 1}, Window: window.Window{From: day, To: day.AddDate(0, 0, 1)}, Spec: program.Canonical, SpecFingerprint: program.Fingerprint, SliceSpec: s}
}

func execute(ctx context.Context, b *book, up *slowly, work ingest.Work) (ingest.Outcome, error) {
	return New(b, up, nil, Config{Lease: time.Minute}, slog.New(slog.DiscardHandler)).Execute(ctx, work)
}

// A request that takes hours keeps its lease all the time.
func TestLeaseIsKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, up := &book{}, &slowly{takes: 3 * time.Hour}
		out, err := execute(t.Context(), b, up, taskOf(t))
		if err != nil || out.Task != ingest.TaskSucceeded || b.lapsed || len(b.finished) != 1 {
			t.Errorf("%+v, %v, lapsed %v", out, err, b.lapsed)
		}
	})
}

// D§5.2: a worker that cannot renew stops at two thirds of the lease by its own
// clock, before anybody else may start; it does not matter whether the store
// refuses, hangs, or answers too late.
func TestStopsBeforeTheLeaseEnds(t *testing.T) {
	for name, renew := range map[string]func(context.Context, int) error{
		"refuses": func(context.Context, int) error { return fault.ErrBusy },
		"hangs":   func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() },
		"slow":    func(ctx context.Context, _ int) error { return wait(ctx, 45*time.Second) },
	} {
		synctest.Test(t, func(t *testing.T) {
			b, up, began := &book{renew: renew}, &slowly{takes: time.Hour}, time.Now()
			out, err := execute(t.Context(), b, up, taskOf(t))
			if !errors.Is(err, fault.ErrStale) || len(b.finished) != 0 {
				t.Errorf("%s: %+v, %v, ended %v", name, out, err, b.finished)
			}
			if at := up.ended.Sub(began); at > 40*time.Second {
				t.Errorf("%s: the request went on for %v of a lease of one minute", name, at)
			}
		})
	}
}

// One renewal that fails is no reason to stop.
func TestRenewalIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, up := &book{renew: func(_ context.Context, n int) error {
			if n%2 == 1 {
				return fault.ErrBusy
			}
			return nil
		}}, &slowly{takes: time.Hour}
		if out, err := execute(t.Context(), b, up, taskOf(t)); err != nil || out.Task != ingest.TaskSucceeded || b.lapsed {
			t.Errorf("%+v, %v, lapsed %v", out, err, b.lapsed)
		}
	})
}

// I7: told that somebody else owns the task, it stops at once and writes nothing.
func TestStaleRenewalStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, up, began := &book{}, &slowly{takes: time.Hour}, time.Now()
		b.renew = func(_ context.Context, n int) error {
			if n == 3 {
				return fmt.Errorf("renew lease: %w", fault.ErrStale)
			}
			return nil
		}
		_, err := execute(t.Context(), b, up, taskOf(t))
		if !errors.Is(err, fault.ErrStale) || !up.ended.Equal(b.renewed[2]) || len(b.finished)+b.commits != 0 {
			t.Errorf("%v after %v, %d ends, %d commits", err, up.ended.Sub(began), len(b.finished), b.commits)
		}
	})
}

// The operator's wish arrives with a renewal too, also during a long request.
func TestCancelArrivesWithARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, up, began := &book{cancel: true}, &slowly{takes: time.Hour}, time.Now()
		out, err := execute(t.Context(), b, up, taskOf(t))
		if err != nil || out.Task != ingest.TaskCancelled || len(b.finished) != 1 || up.ended.Sub(began) > 20*time.Second {
			t.Errorf("%+v, %v after %v", out, err, up.ended.Sub(began))
		}
	})
}

// F14: a slow store is no reason to give up while nobody asked us to stop; once
// somebody did, ending takes a few seconds at most.
func TestSlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &book{slow: 30 * time.Second}
		if out, err := execute(t.Context(), b, &slowly{}, taskOf(t)); err != nil || out.Task != ingest.TaskSucceeded {
			t.Errorf("%+v, %v", out, err)
		}
	})
	for _, slow := range []time.Duration{3 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			b, ctx := &book{slow: slow}, t.Context()
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(10*time.Second, cancel)
			began := time.Now()
			out, err := execute(ctx, b, &slowly{takes: time.Hour}, taskOf(t))
			if took := time.Since(began); took > 16*time.Second {
				t.Errorf("store takes %v: stopping took %v", slow, took-10*time.Second)
			}
			if slow < farewell && (err != nil || out.Task != ingest.TaskQueued || len(b.finished) != 1) {
				t.Errorf("store takes %v: %+v, %v", slow, out, err)
			}
		})
	}
}
