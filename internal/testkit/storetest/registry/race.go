package registry

import (
	"errors"
	"fmt"
	"testing"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/store"
)

func (s suite) sourceRaces(t *testing.T) {
	s.test(t, "files applied at the same time leave one in force", func(w *world) {
		const writers = 4
		handles := make([]*store.Store, writers)
		for i := range handles {
			handles[i] = w.DB.Open(w.T, store.Options{}) // the real clock: each has an instant of its own
		}
		for round := range 3 {
			files := make([]*registry.Source, writers)
			for i := range files {
				files[i] = w.paired(100*round + i + 1)
			}
			w.Together(writers, func(i int) error {
				_, err := handles[i].ApplySource(w.Ctx, files[i], registry.ApplyOptions{})
				return err
			})
			w.oneRowInForceEach()
			got, ok, err := handles[0].LoadSource(w.Ctx, "tiny")
			w.Must(err)
			if n := pair(got) - 100*round; !ok || n < 1 || n > writers {
				w.Errorf("round %d: number %d is in force", round, n)
			}
		}
		w.superseded(0) // who waited for the lock comes after who held it
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log a JOIN ing_audit_log b ON b.prev_hash = a.row_hash"); n != w.Number("SELECT COUNT(*) FROM ing_audit_log")-1 {
			w.Errorf("the log has a gap: %d rows follow another", n)
		}
	})
	s.test(t, "of changes made from the same version one is written, and the others are told", func(w *world) {
		const writers = 4
		handles := make([]*store.Store, writers)
		for i := range handles {
			handles[i] = w.DB.Open(w.T, store.Options{})
		}
		over := "" // nothing is applied yet
		for round := range 3 {
			refused := make([]bool, writers)
			w.Together(writers, func(i int) error {
				_, err := handles[i].ApplySource(w.Ctx, w.paired(100*round+i+1), registry.ApplyOptions{Over: &over})
				var changed *registry.ChangedError
				if refused[i] = errors.As(err, &changed) && errors.Is(err, fault.ErrConflict); refused[i] {
					return nil
				}
				return err
			})
			got, ok, err := handles[0].LoadSource(w.Ctx, "tiny")
			w.Must(err)
			n := pair(got) - 100*round - 1
			for i := range refused {
				if !ok || refused[i] == (i == n) {
					w.Errorf("round %d: number %d is in force, and number %d was refused: %v", round, n, i, refused[i])
				}
			}
			over = got.Fingerprint()
		}
		if n := w.Number("SELECT COUNT(*) FROM ing_audit_log"); n != 3 {
			w.Errorf("%d acts are in the log", n)
		}
	})
	s.test(t, "a source that is loaded meanwhile is never half old and half new", func(w *world) {
		const applies, readers = 40, 3
		writer := w.DB.Open(w.T, store.Options{})
		_, err := writer.ApplySource(w.Ctx, w.paired(1), registry.ApplyOptions{})
		w.Must(err)
		files := make([]*registry.Source, applies)
		for i := range files {
			files[i] = w.paired(i + 2)
		}
		handles := make([]*store.Store, readers)
		for i := range handles {
			handles[i] = w.DB.Open(w.T, store.Options{})
		}
		done := make(chan struct{})
		w.Together(1+readers, func(i int) error {
			if i == 0 {
				defer close(done)
				for _, file := range files {
					if _, err := writer.ApplySource(w.Ctx, file, registry.ApplyOptions{}); err != nil {
						return err
					}
				}
				return nil
			}
			return w.watch(handles[i-1], done)
		})
	})
}

// watch loads a source again and again and looks for mixtures. Versions are
// seen in order, and a stamp that has not changed means the same source.
func (w *world) watch(s *store.Store, done <-chan struct{}) error {
	var last int
	var stamp registry.Stamp
	for {
		before, ok, err := s.SourceStamp(w.Ctx, "tiny")
		if err != nil || !ok {
			return fmt.Errorf("stamp: found=%v %w", ok, err)
		}
		got, ok, err := s.LoadSource(w.Ctx, "tiny")
		if err != nil || !ok {
			return fmt.Errorf("load: found=%v %w", ok, err)
		}
		n := pair(got)
		if n < last {
			return fmt.Errorf("number %d was loaded after number %d, or it is a mixture", n, last)
		}
		if before == stamp && n != last {
			// The load may be newer than the stamp before it, but then the next
			// stamp says so.
			if after, _, err := s.SourceStamp(w.Ctx, "tiny"); err != nil || after == stamp {
				return fmt.Errorf("stamp %+v holds for number %d and number %d (%v)", stamp, last, n, err)
			}
		}
		last, stamp = n, before
		select {
		case <-done:
			return nil
		default:
		}
	}
}

// paired is a source that says one number in many tables.
func (w *world) paired(n int) *registry.Source {
	w.Helper()
	return w.Source("name: Tiny", fmt.Sprint("name: T", n), "size: 500", fmt.Sprintf("size: %d", n), "perSecond: 3", fmt.Sprintf("perSecond: %d", n),
		"default: asc", fmt.Sprintf("default: v%d", n), "env:TINY_KEY", fmt.Sprintf("env:KEY_%d", n))
}

// pair is the number of a paired source, or -1 for a mixture.
func pair(src *registry.Source) int {
	n := src.Endpoints["works"].Paging.Size
	if src.Name != fmt.Sprint("T", n) || src.Rate.PerSecond != float64(n) || src.Endpoints["works"].Params["sort"].Default != fmt.Sprint("v", n) ||
		src.Credentials["main"].Value.String() != fmt.Sprint("env:KEY_", n) {
		return -1
	}
	return n
}
