package executor

import (
	"context"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// AnswerReader reads kept answers.
type AnswerReader interface {
	// Get reads a body; fault.ErrNotFound means that it is not kept any more.
	Get(ctx context.Context, ref string) ([]byte, error)
}

// Bodies keeps the bodies of answers (D§5.24), each whole. When Put returns, the body
// survives a power cut under its reference.
type Bodies interface {
	AnswerReader
	// Sum is the SHA-256 of the body where it is known, or empty.
	Put(ctx context.Context, body []byte, sum string, packed []ingest.PackedPart) (ref string, stored int64, err error)
}

// keeper puts bodies away; a batch waits for its body before it is committed, or has it in its
// own transaction, so that no batch refers to one that is not there.
type keeper struct {
	bodies Bodies // nil keeps none
	whole  bool   // also where the items of an answer are stored with it
}

// keeping puts the body of an answer away when it is first asked for its reference, with
// what of it was packed by then. It gives no reference where nothing is kept. Its error
// is about us, not about the upstream, so it is no fault: the run fails and the task is
// tried again.
type keeping func(packed []ingest.PackedPart) (ref string, err error)

// prepareKeeping returns what keeps a body. An answer that nobody refers to is not kept.
func (k keeper) prepareKeeping(ctx context.Context, body []byte, sum string) keeping {
	if k.bodies == nil || len(body) == 0 {
		return nothingKept
	}
	var ref string
	var err error
	done := false
	return func(packed []ingest.PackedPart) (string, error) {
		if !done {
			done = true
			ref, err = k.put(ctx, body, sum, packed)
		}
		return ref, err
	}
}

func (k keeper) put(ctx context.Context, body []byte, sum string, packed []ingest.PackedPart) (ref string, err error) {
	defer func() {
		if p := recover(); p != nil {
			ref, err = "", fmt.Errorf("keep raw body: panic: %v", p)
		}
	}()
	ref, _, err = k.bodies.Put(ctx, body, sum, packed)
	return ref, err
}

// keptAnswer is how a batch refers to its answer.
type keptAnswer struct {
	ref    string
	packed []ingest.PackedPart // its items, as the database takes them
	rest   []byte              // what it has beside its items, which are stored; nil: it is kept whole, or not at all
	bytes  int
}

// keepAnswer keeps the answer of a bundle before its batch is committed. Where all of its items
// are likely to be stored by this batch, only what it has beside them is kept, with the batch
// itself (decision 165).
func (r *taskRun) keepAnswer(b *bundle) (kept keptAnswer, err error) {
	if r.executor.keeper.bodies == nil || b.body == nil {
		kept.ref, err = b.kept(nil) // the commit packs beside its questions
		return kept, err
	}
	kept.packed, kept.bytes = r.executor.store.PackBatch(b.records, b.body), len(b.body)
	if len(kept.packed) > 0 && !r.executor.keeper.whole {
		kept.rest = r.executor.store.LeaveOutItems(b.records, b.body)
	}
	if kept.rest == nil {
		kept.ref, err = b.kept(kept.packed)
		return kept, err
	}
	if kept.ref = b.sum; kept.ref == "" {
		kept.ref = fingerprint.Bytes(b.body)
	}
	return kept, nil
}

// nothingKept is for a body that is not kept.
func nothingKept([]ingest.PackedPart) (string, error) { return "", nil }

// keptBefore is for a body that was kept under a reference.
func keptBefore(ref string) keeping {
	return func([]ingest.PackedPart) (string, error) { return ref, nil }
}
