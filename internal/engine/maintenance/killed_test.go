package maintenance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
)

var (
	policy = retention.Policy{Archive: 90 * day, Versions: 90 * day, Outbox: 7 * day}
	tester = ingest.Act{Actor: "tester", Reason: "because"}
)

// all does all duties as one process that may be killed.
func (p *place) all(owner string) error {
	ctx, cancel := context.WithCancel(p.Context())
	defer cancel()
	p.cancel = cancel
	s := p.service(owner)
	if _, err := s.Archive(ctx, policy, tester); err != nil {
		return err
	}
	if _, err := s.Prune(ctx, policy, tester); err != nil {
		return err
	}
	_, err := s.Fold(ctx, nil)
	return err
}

// compared are the tables that must end the same however often somebody died.
var compared = append([]string{"ing_cursor", "ing_coverage", "ing_record", "ing_record_body", "ing_body_frame", "ing_outbox_message"}, treeTables...)

// A process is killed after every single thing it does: each commit, and each step
// of writing a file. At that moment nothing is lost; the next process brings it to
// the end that an undisturbed one comes to, and nothing is there twice.
func TestKilledBetweenAnyTwoSteps(t *testing.T) {
	database := aged(t)
	calm := newPlace(t, database)
	before := calm.rows(append([]string{"ing_cursor_event"}, treeTables...)...)
	calm.must(calm.all("calm"))
	calm.verified()
	end, steps := calm.rows(compared...), int(calm.steps.Load())
	if len(end) >= len(before) || steps < 20 {
		t.Fatalf("%d rows became %d in %d steps: nothing was moved", len(before), len(end), steps)
	}
	for at := 1; ; at++ {
		p := newPlace(t, database)
		p.dieAt = at
		err := p.all("first")
		if err == nil {
			if at < steps { // the last one gives the lease back: nobody waits for the answer
				t.Fatalf("step %d of %d was survived", at, steps)
			}
			break
		}
		if !p.died.Load() || !errors.Is(err, errKilled) && !errors.Is(err, context.Canceled) {
			t.Fatalf("step %d: %v", at, err)
		}
		p.nothingLost(before)
		p.verified()
		p.dieAt, p.now = 0, p.now.Add(time.Hour) // the lease of the dead has run out
		p.died.Store(false)
		if err := p.all("second"); err != nil {
			t.Fatalf("after a death in step %d: %v", at, err)
		}
		p.verified()
		p.nothingTwice(before)
		if got := p.rows(compared...); !maps.Equal(withoutVersion(got), withoutVersion(end)) {
			t.Errorf("after a death in step %d the database ends with %d rows, undisturbed with %d:\n%v", at, len(got), len(end), differing(got, end))
		}
		if t.Failed() {
			t.Fatalf("after a death in step %d", at)
		}
	}
}

// nothingLost: every row is in the database or in a sealed file.
func (p *place) nothingLost(before map[string]string) {
	p.Helper()
	now, filed := p.rows(append([]string{"ing_cursor_event"}, treeTables...)...), p.filed()
	for key, cells := range before {
		if is, there := now[key]; there && (is == cells || filed[key] > 0) {
			continue
		}
		if filed[key] == 0 {
			p.Errorf("%s is neither in the database nor in a file", key)
		}
	}
}

// nothingTwice: what is in a file is there once, and not in the database, the
// boundaries of ledgers apart. Nothing else lies about.
func (p *place) nothingTwice(before map[string]string) {
	p.Helper()
	p.nothingLost(before)
	now := p.rows(append([]string{"ing_cursor_event"}, treeTables...)...)
	for key, n := range p.filed() {
		event := strings.HasPrefix(key, "ing_cursor_event/")
		if _, there := now[key]; n > 1 && !event || there && !event {
			p.Errorf("%s is %d times in files, and in the database: %v", key, n, there)
		}
	}
	archives, err := p.store.Archives(p.Context(), 0, 1000)
	p.must(err)
	var names []string
	for _, a := range archives {
		if a.Status != retention.Done {
			p.Errorf("archive %d is %s", a.ID, a.Status)
		}
		names = append(names, a.Name)
	}
	slices.Sort(names)
	if got := p.onDisk(); !slices.Equal(got, names) {
		p.Errorf("on disk are %v, the database knows %v", got, names)
	}
}

// withoutVersion leaves out how often a cursor's row was written.
func withoutVersion(rows map[string]string) map[string]string {
	out := maps.Clone(rows)
	for key, cells := range out {
		if strings.HasPrefix(key, "ing_cursor/") {
			out[key] = cells[:strings.LastIndex(cells, " ")]
		}
	}
	return out
}

func differing(a, b map[string]string) (out []string) {
	for _, key := range keys(a) {
		if a[key] != b[key] {
			out = append(out, key+" "+a[key]+" | "+b[key])
		}
	}
	for _, key := range keys(b) {
		if _, there := a[key]; !there {
			out = append(out, key+" is missing")
		}
	}
	return out
}
