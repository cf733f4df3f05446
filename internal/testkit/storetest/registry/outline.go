package registry

import (
	"reflect"
	"testing"

	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// outlined is an outline of a version of a source, by a program.
func (w *world) outlined(version int64, program string) outline.Kept {
	w.Helper()
	k, err := outline.Keep("tiny", registry.Stamp{Version: version, Until: fixture.Noon.Add(fixture.Day)}, program, outline.Source{Endpoints: []outline.Endpoint{{Name: "wörks", Question: "a question"}}})
	w.Must(err)
	return k
}

// outlines: what was kept is read as it was, by the program that kept it; of an older version nothing stays.
func (s suite) outlines(t *testing.T) {
	expect := func(w *world, program string, want ...outline.Kept) {
		w.Helper()
		got, err := w.Store.Outlines(w.Ctx, program)
		w.Must(err)
		if len(got) != len(want) {
			w.Fatalf("%d outlines of %s, want %d", len(got), program, len(want))
		}
		for _, k := range want {
			if !reflect.DeepEqual(got[k.Code], k) {
				w.Errorf("read %+v, kept %+v", got[k.Code], k)
			}
			if _, valid := got[k.Code].Read(k.Code, k.Stamp, program); !valid {
				w.Error("what was read is not believed")
			}
		}
	}
	s.test(t, "an outline is read as it was kept, by its program alone", func(w *world) {
		kept := w.outlined(1, "one")
		w.Must(w.Store.KeepOutlines(w.Ctx, []outline.Kept{kept}))
		w.Must(w.Store.KeepOutlines(w.Ctx, []outline.Kept{kept}))
		expect(w, "one", kept)
		expect(w, "another")
	})
	s.test(t, "an outline of a newer version takes the place of all older ones", func(w *world) {
		older, others, newer := w.outlined(1, "one"), w.outlined(1, "another"), w.outlined(2, "one")
		w.Must(w.Store.KeepOutlines(w.Ctx, []outline.Kept{older, others}))
		expect(w, "another", others)
		w.Must(w.Store.KeepOutlines(w.Ctx, []outline.Kept{newer}))
		expect(w, "one", newer)
		expect(w, "another")
	})
	s.test(t, "programs that were replaced long ago leave nothing", func(w *world) {
		w.Must(w.Store.KeepOutlines(w.Ctx, []outline.Kept{w.outlined(1, "one")}))
		w.Clock.Advance(31 * fixture.Day)
		kept := w.outlined(1, "another")
		w.Must(w.Store.KeepOutlines(w.Ctx, []outline.Kept{kept}))
		expect(w, "one")
		expect(w, "another", kept)
	})
}
