package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

func open(t *testing.T, c sqlite.Config, o store.Options) *store.Store {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "patra.db")
	}
	s, err := sqlite.Open(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStepsAreRedoneWhenTheDatabaseWasBusy(t *testing.T) {
	other := errors.New("something else")
	for _, c := range []struct {
		name   string
		errors []error // of the first tries; then success
		tries  int
		want   error
	}{
		{"success", nil, 1, nil},
		{"busy twice", []error{fault.ErrBusy, fault.ErrBusy}, 3, nil},
		{"conflict, then busy", []error{fault.ErrConflict, fault.ErrBusy}, 3, nil},
		{"wrapped", []error{fmt.Errorf("deep: %w", fault.ErrBusy)}, 2, nil},
		{"stale is final", []error{fault.ErrStale}, 1, fault.ErrStale},
		{"invalid is final", []error{fault.ErrInvalid}, 1, fault.ErrInvalid},
		{"unknown is final", []error{other}, 1, other},
		{"busy for ever", forever(fault.ErrBusy), store.MaxTries, fault.ErrBusy},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			err := open(t, sqlite.Config{}, store.Options{}).Step(t.Context(), func() error {
				tries++
				if tries <= len(c.errors) {
					return c.errors[tries-1]
				}
				return nil
			})
			if !errors.Is(err, c.want) || c.want == nil && err != nil || tries != c.tries {
				t.Errorf("%d tries and error %v, want %d and %v", tries, err, c.tries, c.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "test step: ") {
				t.Errorf("error %q does not name the step", err)
			}
		})
	}
}

func forever(err error) (out []error) {
	for range 2 * store.MaxTries {
		out = append(out, err)
	}
	return out
}

func TestARedoneStepStopsWhenItsCallerDoes(t *testing.T) {
	s := open(t, sqlite.Config{}, store.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err := s.Step(ctx, func() error {
		tries++
		cancel()
		return fault.ErrBusy
	})
	if !errors.Is(err, context.Canceled) || tries != 1 {
		t.Errorf("%d tries, error %v", tries, err)
	}
	if err := s.Step(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("the next step: %v", err)
	}
	if err := s.Step(ctx, func() error { t.Error("ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a step of a caller who is gone: %v", err)
	}
}

// An answer that is lost after the commit is not redone by the store: only the
// caller may decide to ask again.
func TestALostAnswerIsNotRedone(t *testing.T) {
	commits, tries := 0, 0
	s := open(t, sqlite.Config{}, store.Options{AfterCommit: func(step string) error {
		commits++
		if step != "test step" {
			t.Errorf("step %q", step)
		}
		return fault.ErrBusy
	}})
	if err := s.Step(t.Context(), func() error { tries++; return nil }); !errors.Is(err, fault.ErrBusy) || commits != 1 || tries != 1 {
		t.Errorf("%d commits, %d tries, error %v", commits, tries, err)
	}
}
