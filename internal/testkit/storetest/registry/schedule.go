package registry

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/testkit/storetest/fixture"
)

// begun is a version of the model: it holds until the next one begins.
type begun struct {
	from time.Time
	src  *registry.Source
}

// schedule is the plain meaning of applying sources, oldest version first.
type schedule []begun

// at is what holds at an instant; nil is nothing.
func (s schedule) at(instant time.Time) (src *registry.Source) {
	for _, b := range s {
		if !b.from.After(instant) {
			src = b.src
		}
	}
	return src
}

// apply puts a version in its place. It replaces one that begins at the same
// instant, and later ones only if it is to cancel them.
func (s schedule) apply(src *registry.Source, from time.Time, cancel bool) (after schedule) {
	isLater := func(b begun) bool { return b.from.After(from) }
	if isSame(s.at(from), src) && !(cancel && slices.ContainsFunc(s, isLater)) {
		return s
	}
	after = slices.DeleteFunc(slices.Clone(s), func(b begun) bool { return b.from.Equal(from) || cancel && isLater(b) })
	if isSame(after.at(from), src) {
		return after // the version before goes on
	}
	after = append(after, begun{from, src})
	slices.SortFunc(after, func(a, b begun) int { return a.from.Compare(b.from) })
	return after
}

func isSame(a, b *registry.Source) bool { return a != nil && len(registry.Diff(a, b)) == 0 }

// anySchedule holds a series of applies against the model: what is in force at
// every instant, and which versions there are.
func (w *world) anySchedule() {
	w.Helper()
	var model schedule
	random := uint32(7)
	next := func(n int) int {
		random = random*1664525 + 1013904223
		return int(random>>16) % n
	}
	for step := range 60 {
		src := w.Source("size: 500", fmt.Sprintf("size: %d", 1+next(3)), "perSecond: 3", fmt.Sprintf("perSecond: %d", 1+next(2)), "name: Tiny", fmt.Sprint("name: T", next(2)),
			"      sort: {name: order, default: asc}\n", strings.Repeat("      sort: {name: order}\n", next(2)))
		now := w.Clock.Read()
		from, cancel := now.Add(time.Duration(next(5))*time.Hour), next(4) == 0
		if cancel {
			w.cancelFrom(src, from)
		} else {
			w.ApplyFrom(src, from)
		}
		model = model.apply(src, from, cancel)
		w.follows(model, now)
		if w.Failed() {
			w.Fatalf("after %d applies", step+1)
		}
		w.Clock.Advance(time.Duration(next(2)) * time.Hour)
	}
}

func (w *world) follows(model schedule, now time.Time) {
	w.Helper()
	w.oneRowInForceEach()
	for hour := -6; hour <= 6; hour++ {
		at := now.Add(time.Duration(hour) * time.Hour)
		w.loadsAt(at, model.at(at))
	}
	var want, got []time.Time
	for _, b := range model {
		want = append(want, b.from)
	}
	versions := slices.DeleteFunc(w.history(), func(v registry.SourceVersion) bool { return v.Superseded })
	for i, v := range versions {
		got = append(got, v.From)
		if last := i == len(versions)-1; last != v.To.IsZero() || !last && !v.To.Equal(versions[i+1].From) {
			w.Errorf("version %d ends at %v: %+v", i, v.To, versions)
		}
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		w.Errorf("versions begin at %v, want %v", got, want)
	}
}

// onlyVersion checks that a source is in force for ever, in one version.
func (w *world) onlyVersion(src *registry.Source) {
	w.Helper()
	w.oneRowInForceEach()
	w.loads(src)
	w.loadsAt(fixture.Noon.Add(100*fixture.Day), src)
	if n := len(slices.DeleteFunc(w.history(), func(v registry.SourceVersion) bool { return v.Superseded })); n != 1 {
		w.Errorf("%d versions are left, want one", n)
	}
}
