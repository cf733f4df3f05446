package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
)

// A repository whose issues cannot be read does not make the others read again from where it is behind, although a request
// names no upper bound: they go on from where they are, and it is read from where it stands when it answers.
func TestAPartReadFromAnInstantLagsAlone(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		w := newForgeWorld(t, database)
		w.file = forgeSince
		repos, issues := w.compile("forge", "repos"), w.compile("forge", "issues")
		for id := range 4 {
			w.forge.add(id, marchDay(1), marchDay(1), 1, 2, 3, 4, 5, 6, 7, 8)
		}
		read := func(day int) Harvested {
			t.Helper()
			w.forget()
			w.harvest(repos, marchDay(day))
			return w.harvest(issues, marchDay(day))
		}
		read(2)
		w.forge.broken["r1"] = 500
		read(4)
		failed, err := w.app.Tasks.List(t.Context(), view.Filter{Status: "FAILED", Limit: 5})
		if err != nil || len(failed) != 1 || !strings.HasPrefix(failed[0].Error, "partition repo=1 could not be read: ") {
			t.Errorf("%+v, %v", failed, err)
		}
		read(6)
		if from := w.oldestAsked("r0"); from.Before(marchDay(4)) || w.oldestAsked("r1").After(marchDay(2)) {
			t.Errorf("r0 is read from %s on, and r1 from %s", from, w.oldestAsked("r1"))
		}
		delete(w.forge.broken, "r1")
		read(8)
		if from := w.oldestAsked("r0"); from.Before(marchDay(6)) || w.oldestAsked("r1").After(marchDay(2)) {
			t.Errorf("r0 is read from %s on, and r1 from %s", from, w.oldestAsked("r1"))
		}
		if s := w.state(issues); !s.Cursor.Equal(marchDay(8)) || len(w.stored("forge")) != 32 || len(w.lags(issues)) != 0 { // what lies behind the window comes too
			t.Errorf("the watermark stands at %s, %d issues, %+v", s.Cursor, len(w.stored("forge")), w.lags(issues))
		}
	})
}

// oldestAsked returns the earliest instant that was asked for of a repository.
func (w *forgeWorld) oldestAsked(name string) (at time.Time) {
	w.Helper()
	if len(w.forge.spans[name]) == 0 {
		w.Fatalf("%s was not asked for", name)
	}
	for i, span := range w.forge.spans[name] {
		if i == 0 || span.From.Before(at) {
			at = span.From
		}
	}
	return at
}
