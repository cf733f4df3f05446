package executor

import (
	"context"
	"fmt"
)

// Bodies keeps the bodies of answers (D§5.24). When Put returns, the body
// survives a power cut under its reference.
type Bodies interface {
	Put(ctx context.Context, body []byte) (ref string, stored int64, err error)
	// Get reads a body; fault.ErrNotFound means that it is not kept any more.
	Get(ctx context.Context, ref string) ([]byte, error)
}

// keeper puts bodies away while they are read and mapped; a batch waits for its
// body before it is committed, so that no batch refers to one that is not there.
type keeper struct{ bodies Bodies } // nil keeps none

// startKeeping begins to put a body away. wait may be called any number of times; it
// gives no reference where nothing is kept. Its error is about us, not about the
// upstream, so it is no fault: the run fails and the task is tried again.
func (k keeper) startKeeping(ctx context.Context, body []byte) (wait func() (ref string, err error)) {
	if k.bodies == nil || len(body) == 0 {
		return nothingKept
	}
	var ref string
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				ref, err = "", fmt.Errorf("keep raw body: panic: %v", p)
			}
		}()
		ref, _, err = k.bodies.Put(ctx, body)
	}()
	return func() (string, error) {
		<-done
		return ref, err
	}
}

// nothingKept is the wait for a body that is not kept.
func nothingKept() (string, error) { return "", nil }
