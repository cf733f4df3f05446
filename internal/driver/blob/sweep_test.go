package blob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
)

const day = 24 * time.Hour

// aged puts one body per age. They take the same room.
func aged(t *testing.T, s *Store, ages ...time.Duration) (refs []string, each int64) {
	t.Helper()
	for i, by := range ages {
		ref, stored, err := s.Put(t.Context(), fmt.Appendf(nil, "body %03d", i), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		age(t, s.filePath(ref), by)
		refs, each = append(refs, ref), stored
	}
	return refs, each
}

// left tells which of the bodies are still there.
func left(t *testing.T, s *Store, refs []string) (out []int) {
	t.Helper()
	for i, ref := range refs {
		if _, err := s.Get(t.Context(), ref); err == nil {
			out = append(out, i)
		} else if !errors.Is(err, fault.ErrNotFound) {
			t.Fatal(err)
		}
	}
	return out
}

func TestSweep(t *testing.T) {
	ages := []time.Duration{0, 5 * time.Minute, time.Hour, day, 20 * day, 31 * day, 90 * day}
	for name, c := range map[string]struct {
		keepFor time.Duration
		bodies  int64 // the budget, as a number of bodies
		want    []int
	}{
		"nothing is asked":         {0, 0, []int{0, 1, 2, 3, 4, 5, 6}},
		"by age":                   {30 * day, 0, []int{0, 1, 2, 3, 4}},
		"by size, the oldest go":   {0, 4, []int{0, 1, 2, 3}},
		"by both":                  {30 * day, 3, []int{0, 1, 2}},
		"enough room":              {30 * day, 5, []int{0, 1, 2, 3, 4}},
		"grace beats the budget":   {30 * day, 1, []int{0, 1}},
		"grace beats the age":      {time.Nanosecond, 0, []int{0, 1}},
		"a day":                    {day + time.Minute, 0, []int{0, 1, 2, 3}},
		"not even one body's room": {0, -1, []int{0, 1, 2, 3, 4, 5, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			refs, each := aged(t, s, ages...)
			swept, err := s.Sweep(t.Context(), time.Now(), c.keepFor, c.bodies*each)
			if err != nil {
				t.Fatal(err)
			}
			if got := left(t, s, refs); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("left %v, want %v", got, c.want)
			}
			gone := len(ages) - len(c.want)
			if want := (Swept{gone, int64(gone) * each, int64(len(c.want)) * each}); swept != want {
				t.Errorf("%+v, want %+v", swept, want)
			}
		})
	}
}

// Files of one age step go only as far as the budget asks for.
func TestSweepTakesNoMoreThanNeeded(t *testing.T) {
	s := open(t, t.TempDir())
	ages := make([]time.Duration, 40)
	for i := range ages {
		ages[i] = day
	}
	refs, each := aged(t, s, ages...)
	if _, err := s.Sweep(t.Context(), time.Now(), 0, 30*each); err != nil {
		t.Fatal(err)
	}
	if n := len(left(t, s, refs)); n != 30 {
		t.Errorf("%d of 40 are left, 30 fit", n)
	}
}

func TestSweepCleansUpAfterTheDead(t *testing.T) {
	s := open(t, t.TempDir())
	put(t, s, "a body")
	dead, alive := filepath.Join(s.Dir(), tempDir, "put-1"), filepath.Join(s.Dir(), tempDir, "put-2")
	foreign := filepath.Join(s.Dir(), "00", "notes.txt")
	if err := os.MkdirAll(filepath.Dir(foreign), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dead, alive, foreign} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	age(t, dead, day)
	age(t, foreign, 90*day)
	if _, err := s.Sweep(t.Context(), time.Now(), 30*day, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Error("what a dead process left is still there")
	}
	for _, path := range []string{alive, foreign} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// A body that is put while a sweeper is about to remove it survives: set aside
// it is still found, and its new time saves it.
func TestPutBesideRemoval(t *testing.T) {
	s := open(t, t.TempDir())
	ref := put(t, s, "contested")
	age(t, s.filePath(ref), 90*day)
	old, err := os.Stat(s.filePath(ref))
	if err != nil {
		t.Fatal(err)
	}
	seen := found{s.filePath(ref), old.Size(), old.ModTime()}
	put(t, s, "contested")
	w := sweep{store: s, now: time.Now()}
	if err := w.removeFile(seen); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), ref); err != nil || w.done.Files != 0 {
		t.Errorf("%+v %v", w.done, err)
	}
	// The sweeper died after it had set the file aside.
	if err := os.Rename(s.filePath(ref), s.filePath(ref)+aside); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), ref); err != nil {
		t.Error(err)
	}
	age(t, s.filePath(ref)+aside, 90*day)
	put(t, s, "contested")
	if _, err := s.Sweep(t.Context(), time.Now(), 30*day, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.filePath(ref) + aside); !errors.Is(err, os.ErrNotExist) {
		t.Error("what was set aside stays for ever")
	}
	if _, err := s.Get(t.Context(), ref); err != nil {
		t.Error(err)
	}
}

// Writers and sweepers of several processes at once: a body that was about to be
// swept, and is put again, is there.
func TestSweepersBesideWriters(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	var sweepers, writers sync.WaitGroup
	for range 2 {
		s := open(t, dir)
		sweepers.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Sweep(ctx, time.Now(), 30*day, 1); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 4 {
		s := open(t, dir)
		writers.Go(func() {
			for i := range 300 {
				body := fmt.Appendf(nil, "body %d of writer %d", i%7, n)
				ref, _, err := s.Put(ctx, body, "", nil)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := s.Get(ctx, ref); err != nil {
					t.Errorf("writer %d, round %d: %v", n, i, err)
				}
				old := time.Now().Add(-90 * day)
				_ = os.Chtimes(s.filePath(ref), old, old) // unless it is gone already
			}
		})
	}
	writers.Wait()
	stop()
	sweepers.Wait()
}

func TestSweepCanBeStopped(t *testing.T) {
	s := open(t, t.TempDir())
	refs, _ := aged(t, s, 90*day)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.Sweep(ctx, time.Now(), 30*day, 0); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "sweep raw bodies") {
		t.Error(err)
	}
	if len(left(t, s, refs)) != 1 || !s.Due(time.Now(), 0) {
		t.Error("a sweep that was stopped counts as one")
	}
}

// A clock that was years ahead must not keep a body for years.
func TestSweepOfTheFuture(t *testing.T) {
	s := open(t, t.TempDir())
	refs, _ := aged(t, s, -5000*day)
	now := time.Now()
	for i, want := range []int{1, 0} {
		if _, err := s.Sweep(t.Context(), now.Add(time.Duration(i)*31*day), 30*day, 0); err != nil {
			t.Fatal(err)
		}
		if n := len(left(t, s, refs)); n != want {
			t.Errorf("sweep %d left %d", i, n)
		}
	}
}

func TestDue(t *testing.T) {
	s := open(t, t.TempDir())
	_, each := aged(t, s, 0)
	now := time.Now()
	if !s.Due(now, 0) {
		t.Error("a folder nobody swept is not due")
	}
	if _, err := s.Sweep(t.Context(), now, 30*day, 0); err != nil {
		t.Fatal(err)
	}
	other := open(t, s.Dir())
	for after, want := range map[time.Duration]bool{0: false, 59 * time.Minute: false, time.Hour: true, -2 * time.Hour: true} {
		if s.Due(now.Add(after), 1<<30) != want || other.Due(now.Add(after), 1<<30) != want {
			t.Errorf("%v after a sweep: want %v", after, want)
		}
	}
	put(t, s, "more")
	if !s.Due(now, 10*each) || s.Due(now, 1000*each) || s.Due(now, 0) {
		t.Error("growth does not count as it should")
	}
}

// What bodies take is known without counting them: after a sweep, by whichever process, and
// with what was put since.
func TestKeptIsKnownWithoutCounting(t *testing.T) {
	s := open(t, t.TempDir())
	if _, known := s.Kept(); known {
		t.Error("known before anybody has counted")
	}
	_, each := aged(t, s, 0, 31*day, 90*day)
	if _, err := s.Sweep(t.Context(), time.Now(), 30*day, 0); err != nil {
		t.Fatal(err)
	}
	other, err := Open(s.Dir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, store := range []*Store{s, other} {
		if bytes, known := store.Kept(); !known || bytes != each {
			t.Errorf("%d bytes, %v, want %d", bytes, known, each)
		}
	}
	_, more, err := s.Put(t.Context(), []byte("one more body"), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if bytes, _ := s.Kept(); bytes != each+more {
		t.Errorf("%d bytes, want %d", bytes, each+more)
	}
	if err := os.WriteFile(filepath.Join(s.Dir(), lastSweep), nil, 0o600); err != nil { // as earlier versions left it
		t.Fatal(err)
	}
	if _, known := s.Kept(); known {
		t.Error("nothing is taken for a number")
	}
}
