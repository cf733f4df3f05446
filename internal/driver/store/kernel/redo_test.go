package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/driver/store/kernel"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
)

// open opens the kernel of a file.
func open(t *testing.T, o kernel.Options) *kernel.DB {
	t.Helper()
	d, write, read, err := sqlite.Connect(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "patra.db")})
	if err != nil {
		t.Fatal(err)
	}
	db := kernel.New(d, write, read, o)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// step is a step that only says how it went.
func step(ctx context.Context, db *kernel.DB, do func() error) error {
	return db.Step(ctx, "test step", kernel.Bulk, func(*kernel.Tx) error { return do() })
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
		{"busy for ever", forever(fault.ErrBusy), kernel.MaxTries, fault.ErrBusy},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			err := step(t.Context(), open(t, kernel.Options{}), func() error {
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
	for range 2 * kernel.MaxTries {
		out = append(out, err)
	}
	return out
}

func TestARedoneStepStopsWhenItsCallerDoes(t *testing.T) {
	s := open(t, kernel.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	err := step(ctx, s, func() error {
		tries++
		cancel()
		return fault.ErrBusy
	})
	if !errors.Is(err, context.Canceled) || tries != 1 {
		t.Errorf("%d tries, error %v", tries, err)
	}
	if err := step(t.Context(), s, func() error { return nil }); err != nil {
		t.Errorf("the next step: %v", err)
	}
	if err := step(ctx, s, func() error { t.Error("ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a step of a caller who is gone: %v", err)
	}
}

// An answer that is lost after the commit is not redone by the store: only the
// caller may decide to ask again.
func TestALostAnswerIsNotRedone(t *testing.T) {
	commits, tries := 0, 0
	s := open(t, kernel.Options{AfterCommit: func(step string) error {
		commits++
		if step != "test step" {
			t.Errorf("step %q", step)
		}
		return fault.ErrBusy
	}})
	if err := step(t.Context(), s, func() error { tries++; return nil }); !errors.Is(err, fault.ErrBusy) || commits != 1 || tries != 1 {
		t.Errorf("%d commits, %d tries, error %v", commits, tries, err)
	}
}
