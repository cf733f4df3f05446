package ledger

import (
	"fmt"
	"slices"
	"testing"

	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// list begins a harvest of a day whose listing names files.
func (w *world) list(h fixture.Harvest, listed ...files.Listed) *fixture.Attempt {
	w.Helper()
	w.Plan(h)
	a := w.Begin(h)
	page := a.Page()
	page.Listed = listed
	a.Store(page)
	return a
}

// owed are the files that a slice has to read, by name.
func (w *world) owed(a *fixture.Attempt, take files.Take) (names []string) {
	w.Helper()
	found, err := w.Store.OwedFiles(w.Ctx, a.Work.Lineage.SliceID, take)
	w.Must(err)
	for _, f := range found {
		if f.Version != f.Listed.Version() {
			w.Errorf("version %s of %+v", f.Version, f)
		}
		names = append(names, f.Name)
	}
	return names
}

// readFile ends a slice that read a file.
func (w *world) readFile(a *fixture.Attempt, o ingest.Outcome, f files.Listed) {
	w.Helper()
	finish := a.Ending(o)
	finish.File = &ingest.FileEnd{Name: f.Name, Version: f.Version(), Validator: `etag "1"`, Items: 3, Bytes: 300}
	w.Must(w.Store.FinishRun(w.Ctx, finish))
}

func (s suite) files(t *testing.T) {
	a := files.Listed{Name: "a", Address: "/a", Size: 1, Stamp: fixture.Midnight(1)}
	b := files.Listed{Name: "B é", Address: "/b", Lines: 2, Checksum: "md5:x", Stamp: fixture.Midnight(2)}
	s.test(t, "a file is owed until it is read as it is listed", func(w *world) {
		one := w.list(aDay(1), a, b, a)
		if got := w.owed(one, files.TakeAll); !slices.Equal(got, []string{"a", "B é"}) {
			w.Errorf("first: %q", got)
		}
		if got := w.owed(one, files.TakeNewest); !slices.Equal(got, []string{"B é"}) {
			w.Errorf("newest: %q", got)
		}
		w.readFile(one, fixture.Succeeded, a)
		two := w.list(aDay(2), a) // b is not listed any more, and was never read
		if got := w.owed(two, files.TakeAll); !slices.Equal(got, []string{"B é"}) {
			w.Errorf("second: %q", got)
		}
		if got := w.owed(two, files.TakeNewest); len(got) > 0 {
			w.Errorf("the newest that is listed was read: %q", got)
		}
		w.readFile(two, fixture.Failed, b) // a failed slice read nothing
		changed := a
		changed.Size = 7
		three := w.list(aDay(3), changed)
		if got := w.owed(three, files.TakeAll); !slices.Equal(got, []string{"a", "B é"}) {
			w.Errorf("third: %q", got)
		}
		w.readFile(three, fixture.Succeeded, a) // the older version: the new one stays owed
		four := w.list(aDay(4), changed)
		if got := w.owed(four, files.TakeAll); !slices.Equal(got, []string{"a", "B é"}) {
			w.Errorf("fourth: %q", got)
		}
		seen, err := w.Store.Files(w.Ctx, w.CursorID(aDay(4)), 10)
		w.Must(err)
		var told []string
		for _, f := range seen {
			told = append(told, fmt.Sprintf("%s %s %d", f.Name, f.State, f.Items))
		}
		if want := []string{"B é OWED 0", "a CHANGED 3"}; !slices.Equal(told, want) {
			w.Errorf("%q, want %q", told, want)
		}
	})
	s.test(t, "a set of files is as old as what was read of it", func(w *world) {
		first := w.list(aDay(1), a, b, files.FromAddress("/undated"))
		of := aDay(1).Namespace()
		if set, err := w.Store.FileSet(w.Ctx, of); err != nil || set != (files.Set{}) {
			w.Errorf("nothing was read: %+v %v", set, err)
		}
		w.readFile(first, fixture.Succeeded, b)
		if set, err := w.Store.FileSet(w.Ctx, of); err != nil || set.Read != 1 || set.Undated != 0 || !set.Oldest.Equal(b.Stamp) || !set.Newest.Equal(b.Stamp) {
			w.Errorf("one: %+v %v", set, err)
		}
		w.readFile(w.list(aDay(2)), fixture.Succeeded, a)
		w.readFile(w.list(aDay(3)), fixture.Succeeded, files.FromAddress("/undated"))
		if set, err := w.Store.FileSet(w.Ctx, of); err != nil || set.Read != 3 || set.Undated != 1 || !set.Oldest.Equal(a.Stamp) || !set.Newest.Equal(b.Stamp) {
			w.Errorf("all: %+v %v", set, err)
		}
	})
	s.test(t, "a file that nothing tells apart is asked for every time", func(w *world) {
		fixed := files.FromAddress("/dump")
		one := w.list(aDay(1), fixed)
		w.readFile(one, fixture.Succeeded, fixed)
		two := w.list(aDay(2), fixed)
		found, err := w.Store.OwedFiles(w.Ctx, two.Work.Lineage.SliceID, files.TakeAll)
		w.Must(err)
		if len(found) != 1 || found[0].Validator != `etag "1"` {
			w.Errorf("%+v", found)
		}
	})
}
