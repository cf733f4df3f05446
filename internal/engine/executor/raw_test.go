package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/blob"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// slowBodies keeps a body when it is let.
type slowBodies struct {
	let chan error
	got []byte
}

func (b *slowBodies) Put(_ context.Context, body []byte) (string, int64, error) {
	err := <-b.let
	if err != nil {
		return "", 0, err
	}
	b.got = body
	return "ref", 1, nil
}

// The page is read while its body is put away; only who waits is held up.
func TestKeeperWorksInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodies := &slowBodies{let: make(chan error)}
		wait := keeper{bodies}.startKeeping(t.Context(), []byte("body"))
		answers := make(chan string, 2)
		for range 2 {
			go func() {
				ref, err := wait()
				if err != nil {
					t.Error(err)
				}
				answers <- ref
			}()
		}
		synctest.Wait()
		if len(answers) != 0 {
			t.Fatal("the wait ended before the body was kept")
		}
		bodies.let <- nil
		synctest.Wait()
		if len(answers) != 2 || <-answers != "ref" || <-answers != "ref" || string(bodies.got) != "body" {
			t.Errorf("kept %q", bodies.got)
		}
	})
}

// A store of bodies that fails is our trouble: whoever classified the error as
// the upstream's would blame and slow down the wrong one.
func TestKeeperFailsAsOurFault(t *testing.T) {
	full := errors.New("no room left")
	bodies := &slowBodies{let: make(chan error, 1)}
	bodies.let <- full
	ref, err := keeper{bodies}.startKeeping(t.Context(), []byte("body"))()
	var f *fault.Error
	if ref != "" || !errors.Is(err, full) || errors.As(err, &f) {
		t.Errorf("%q %v", ref, err)
	}
}

type brokenBodies struct{}

func (b *slowBodies) Get(context.Context, string) ([]byte, error) { return nil, fault.ErrNotFound }

func (brokenBodies) Get(context.Context, string) ([]byte, error) { panic("defect") }

func (brokenBodies) Put(context.Context, []byte) (string, int64, error) { panic("defect") }

func TestKeeperSurvivesADefect(t *testing.T) {
	if ref, err := (keeper{brokenBodies{}}).startKeeping(t.Context(), []byte("body"))(); ref != "" || err == nil || !strings.Contains(err.Error(), "panic: defect") {
		t.Errorf("%q %v", ref, err)
	}
}

func TestKeeperOfNothing(t *testing.T) {
	for name, wait := range map[string]func() (string, error){
		"switched off": keeper{}.startKeeping(t.Context(), []byte("body")),
		"no body":      keeper{brokenBodies{}}.startKeeping(t.Context(), nil),
	} {
		if ref, err := wait(); ref != "" || err != nil {
			t.Errorf("%s: %q %v", name, ref, err)
		}
	}
}

// kept is a folder of bodies.
func (w *world) kept() *blob.Store {
	w.Helper()
	bodies, err := blob.Open(filepath.Join(w.TempDir(), "raw"), blob.Options{})
	w.must(err)
	w.Cleanup(bodies.Close)
	return bodies
}

func (w *world) runKeeping(s Store, bodies Bodies) ingest.Outcome {
	w.Helper()
	outcome, err := New(s, w.chain, bodies, w.config, slog.New(slog.DiscardHandler)).Execute(w.Context(), w.claim("worker"))
	w.must(err)
	return outcome
}

// watchfulStore refuses a batch whose body is not there yet.
type watchfulStore struct {
	*store.Store
	bodies *blob.Store
}

func (s watchfulStore) CommitBatch(ctx context.Context, b ingest.BatchCommit) (ingest.BatchResult, error) {
	if _, err := s.bodies.Get(ctx, b.Raw); err != nil {
		return ingest.BatchResult{}, fmt.Errorf("committed before its body was kept: %w", err)
	}
	return s.Store.CommitBatch(ctx, b)
}

// Every page has its body, byte for byte as it was read, before it is committed.
func TestEveryBatchHasItsBody(t *testing.T) {
	inWorld(t, setup{faults: "truncate-json@page:3:times=1"}, func(w *world) {
		bodies := w.kept()
		if out := w.runKeeping(watchfulStore{w.store, bodies}, bodies); out.Task != ingest.TaskSucceeded {
			t.Fatalf("%+v", out)
		}
		for _, b := range w.batches() {
			one, err := w.store.Batch(t.Context(), b.ID)
			w.must(err)
			_, response := w.evidence(b.ID)
			if one.Raw == "" || one.Raw != response["sha256"] {
				t.Errorf("batch %d refers to %q, its answer was %v", b.ID, one.Raw, response["sha256"])
			}
			body, err := bodies.Get(t.Context(), one.Raw)
			if err != nil || float64(len(body)) != response["bytes"] {
				t.Errorf("batch %d: %d bytes of %v, %v", b.ID, len(body), response["bytes"], err)
			}
		}
		w.covered()
		w.nothingLost()
	})
}

// An answer that is no page keeps its body too.
func TestFailedPageHasItsBody(t *testing.T) {
	inWorld(t, setup{faults: "html-200@*", settings: []string{"retry.maxAttempts=2", "retry.taskAttempts=1"}}, func(w *world) {
		bodies := w.kept()
		if out := w.runKeeping(w.store, bodies); out.Task != ingest.TaskFailed || out.Code != "BAD_BODY" {
			t.Fatalf("%+v", out)
		}
		batches := w.batches()
		last, err := w.store.Batch(t.Context(), batches[len(batches)-1].ID)
		w.must(err)
		body, err := bodies.Get(t.Context(), last.Raw)
		if last.Status != "FAILED" || err != nil || !strings.Contains(string(body), "<html") {
			t.Errorf("%+v: %q %v", last, body, err)
		}
	})
}

// full is a disk without room.
type full struct{}

func (full) Get(context.Context, string) ([]byte, error) { return nil, fault.ErrNotFound }

func (full) Put(context.Context, []byte) (string, int64, error) {
	return "", 0, errors.New("no room left in the folder of bodies")
}

// Where a body cannot be kept nothing is committed, the upstream is not blamed,
// and the task is tried again.
func TestNoRoomForBodies(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		out := w.runKeeping(w.store, full{})
		if out.Task != ingest.TaskScheduled || out.Code != "INTERNAL" || !strings.Contains(out.Error, "no room left") || out.Stats.Requests != 1 {
			t.Errorf("%+v", out)
		}
		for _, b := range w.batches() {
			if b.Status == "SUCCEEDED" {
				t.Errorf("committed: %+v", b)
			}
		}
		if counts, err := w.store.Counts(t.Context(), "crossref"); err != nil || counts.Records != 0 || counts.Outbox != 0 {
			t.Errorf("%+v %v", counts, err)
		}
		w.owed()
		w.sane()
		w.clock.advance(time.Hour)
		if n, err := w.store.Promote(t.Context(), 10); n != 1 || err != nil {
			t.Fatalf("%d promoted, %v", n, err)
		}
		if out := w.runKeeping(w.store, w.kept()); out.Task != ingest.TaskSucceeded {
			t.Errorf("with room again: %+v", out)
		}
		w.covered()
		w.nothingLost()
	})
}
