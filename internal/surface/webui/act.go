package webui

import (
	"context"
	"fmt"
	"net/http"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
)

// acted is an action on its way: its preview, and what became of it. GET shows what would
// be done, POST does it, with a reason and only as it was shown.
type acted[T any] struct {
	Preview T
	Mark    string // of the preview; a form carries it back
	Reason  string // that was typed
	Trouble string // why it was not done
	Done    bool
	Result  T
}

// doOrPreview rehearses an action and, if it is posted with a reason and its preview still
// holds, does it. The mark is made of what would be done and nothing beside it, such as the
// time of the preview.
func doOrPreview[T any](a *ask, do func(ctx context.Context, by ingest.Act) (T, error), markOf func(T) any) (out acted[T], err error) {
	return actOrPreview(a, a.Method == http.MethodPost, do, markOf)
}

// actOrPreview does the same where also the preview is posted, because it is of a text that
// no address holds.
func actOrPreview[T any](a *ask, wanted bool, do func(ctx context.Context, by ingest.Act) (T, error), markOf func(T) any) (out acted[T], err error) {
	if out.Preview, err = do(a.Context(), a.rehearsal()); err != nil {
		return out, err
	}
	if out.Mark, err = fingerprint.Of(markOf(out.Preview)); err != nil {
		return out, fmt.Errorf("mark a preview: %w", err)
	}
	if !wanted {
		return out, nil
	}
	out.Reason = a.reason()
	switch {
	case out.Reason == "":
		out.Trouble = "Nothing was done: a reason is needed. It is kept in the audit log."
		return out, nil
	case a.PostFormValue("mark") != out.Mark:
		out.Trouble = "Nothing was done: what it would do has changed since you looked. This is the preview of now."
		return out, nil
	}
	out.Result, err = do(a.Context(), ingest.Act{Actor: a.Caller.Actor(), Reason: out.Reason})
	out.Done = err == nil
	return out, err
}

// statusOf returns the status of a page that shows an action which was not done.
func (t acted[T]) statusOf() int {
	if t.Trouble != "" {
		return http.StatusConflict
	}
	return http.StatusOK
}
