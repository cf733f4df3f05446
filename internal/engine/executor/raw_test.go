package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/driver/blob"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// countedBodies keeps bodies and counts how often, or fails.
type countedBodies struct {
	fail  error
	got   [][]byte
	parts int
}

func (b *countedBodies) Put(_ context.Context, body []byte, _ string, packed []ingest.PackedPart) (string, int64, error) {
	if b.fail != nil {
		return "", 0, b.fail
	}
	b.got, b.parts = append(b.got, body), len(packed)
	return "ref", 1, nil
}

// A body is kept when somebody wants to refer to it, with what was packed of it by then,
// and once.
func TestKeeperKeepsOnce(t *testing.T) {
	bodies := &countedBodies{}
	kept := keeper{bodies: bodies}.prepareKeeping(t.Context(), []byte("body"), "")
	if len(bodies.got) != 0 {
		t.Fatal("a body was kept that nobody refers to")
	}
	for _, packed := range [][]ingest.PackedPart{make([]ingest.PackedPart, 3), nil} {
		if ref, err := kept(packed); ref != "ref" || err != nil {
			t.Errorf("%q %v", ref, err)
		}
	}
	if len(bodies.got) != 1 || string(bodies.got[0]) != "body" || bodies.parts != 3 {
		t.Errorf("kept %q with %d parts", bodies.got, bodies.parts)
	}
}

// A store of bodies that fails is our trouble: whoever classified the error as
// the upstream's would blame and slow down the wrong one.
func TestKeeperFailsAsOurFault(t *testing.T) {
	full := errors.New("no room left")
	bodies := &countedBodies{fail: full}
	ref, err := keeper{bodies: bodies}.prepareKeeping(t.Context(), []byte("body"), "")(nil)
	var f *fault.Error
	if ref != "" || !errors.Is(err, full) || errors.As(err, &f) {
		t.Errorf("%q %v", ref, err)
	}
}

type brokenBodies struct{}

func (b *countedBodies) Get(context.Context, string) ([]byte, error) { return nil, fault.ErrNotFound }

func (brokenBodies) Get(context.Context, string) ([]byte, error) { panic("defect") }

func (brokenBodies) Put(context.Context, []byte, string, []ingest.PackedPart) (string, int64, error) {
	panic("defect")
}

func TestKeeperSurvivesADefect(t *testing.T) {
	if ref, err := (keeper{bodies: brokenBodies{}}).prepareKeeping(t.Context(), []byte("body"), "")(nil); ref != "" || err == nil || !strings.Contains(err.Error(), "panic: defect") {
		t.Errorf("%q %v", ref, err)
	}
}

func TestKeeperOfNothing(t *testing.T) {
	for name, kept := range map[string]keeping{
		"switched off": keeper{}.prepareKeeping(t.Context(), []byte("body"), ""),
		"no body":      keeper{bodies: brokenBodies{}}.prepareKeeping(t.Context(), nil, ""),
	} {
		if ref, err := kept(nil); ref != "" || err != nil {
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
		w.config.WholeAnswers = true
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

// hurriedStore has stored the items of a batch before, as it says.
type hurriedStore struct {
	*store.Store
	no      int
	refused int
}

func (s *hurriedStore) CommitBatch(ctx context.Context, b ingest.BatchCommit) (ingest.BatchResult, error) {
	if b.No == s.no && b.Rest != nil {
		s.refused++
		return ingest.BatchResult{}, fmt.Errorf("commit batch: %w", ingest.ErrItemsStored)
	}
	return s.Store.CommitBatch(ctx, b)
}

// A page whose items its batch stores is kept without them, and one whose items were stored before is kept
// whole: both come back byte for byte as they were read.
func TestAnswersAreKeptWithoutTheirItems(t *testing.T) {
	inWorld(t, setup{faults: "truncate-json@page:3:times=1"}, func(w *world) {
		bodies, hurried := w.kept(), &hurriedStore{Store: w.store, no: 2}
		if out := w.runKeeping(hurried, bodies); out.Task != ingest.TaskSucceeded {
			t.Fatalf("%+v", out)
		}
		lean := 0
		for _, b := range w.batches() {
			one, err := w.store.Batch(t.Context(), b.ID)
			w.must(err)
			_, response := w.evidence(b.ID)
			body, err := w.store.LeanAnswer(t.Context(), one.Raw)
			_, whole := bodies.Stored(t.Context(), one.Raw)
			if errors.Is(err, fault.ErrNotFound) {
				body, err = bodies.Get(t.Context(), one.Raw)
			} else if lean++; whole == nil {
				t.Errorf("batch %d is kept twice", b.ID)
			}
			if err != nil || float64(len(body)) != response["bytes"] || one.Raw != response["sha256"] {
				t.Errorf("batch %d refers to %q: %d bytes of %v, %v", b.ID, one.Raw, len(body), response["bytes"], err)
			}
			if b.No == 2 && whole != nil {
				t.Errorf("the answer whose items were stored before: %v", whole)
			}
		}
		if lean < 2 || hurried.refused != 1 {
			t.Errorf("%d answers are without their items, %d were refused", lean, hurried.refused)
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

func (full) Put(context.Context, []byte, string, []ingest.PackedPart) (string, int64, error) {
	return "", 0, errors.New("no room left in the folder of bodies")
}

// Where a body cannot be kept nothing is committed, the upstream is not blamed,
// and the task is tried again.
func TestNoRoomForBodies(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.config.WholeAnswers = true
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
