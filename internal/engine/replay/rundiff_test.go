package replay_test

import (
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
)

// Two runs of one window: what came, went and changed between them, and nothing
// of what only moved to another page.
func TestRunDiff(t *testing.T) {
	data := dataset(50)
	asking := func(word string) *spec.Compiled { // another question has a watermark of its own, so all is read again
		_, compiled := simulated.Crossref(t, data, "", "paging.size=20", "slicing.step=P7D", "request.query.query="+word)
		return compiled
	}
	w := harvested(t, asking("one"))
	w.harvest(asking("two"))
	diff := func(a, b int64) (d *blackbox.RunDiff) {
		w.pure(func() {
			var err error
			if d, err = w.app.Replays.DiffRuns(t.Context(), a, b); err != nil {
				t.Fatal(err)
			}
		})
		return d
	}
	if d := diff(1, 2); !d.Identical || d.Same != 100 || len(d.Batches) < 5 {
		t.Errorf("%+v", d)
	}
	box, err := w.store().Box(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	changed, gone := box.Written[0].ID, box.Written[1].ID
	truth, _ := data.Lookup(changed)
	added, err := data.Add("", truth.Indexed)
	if err == nil {
		err = data.Touch(changed, truth.Indexed, true)
	}
	if err == nil {
		err = data.Remove(gone)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.harvest(asking("three"))
	d := diff(1, 3)
	if d.Identical || d.Added != 1 || d.Missing != 1 || d.Changed != 1 || d.Same != 98 {
		t.Fatalf("%+v", d)
	}
	var all []string
	for _, b := range d.Batches {
		all = append(append(append(all, b.Added...), b.Missing...), b.Changed...)
	}
	for _, id := range []string{added, changed, gone} {
		if !strings.Contains(strings.ToLower(strings.Join(all, " ")), strings.ToLower(id)) {
			t.Errorf("%s is not named: %v", id, all)
		}
	}
	if err := os.RemoveAll(w.app.Bodies.Dir()); err != nil {
		t.Fatal(err)
	}
	if d := diff(1, 2); d.Identical || d.Added+d.Missing+d.Changed != 0 || d.Unread == 0 || len(d.Notes) == 0 {
		t.Errorf("without bodies: %+v", d)
	}
}
