package live

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Reader tells what goes on, in all sources.
type Reader interface {
	// Now is the time by the clock of the store.
	Now(ctx context.Context) (time.Time, error)
	// RunningPlans lists the plans that are not at their end, with how far they are.
	RunningPlans(ctx context.Context) ([]view.RunningPlan, error)
	// RunningRuns lists the runs that are at work, up to a number.
	RunningRuns(ctx context.Context, limit int) ([]view.Run, error)
	// Findings tells what a person should look at.
	Findings(ctx context.Context) ([]view.Finding, error)
	// Throughput tells what runs did, by partition.
	Throughput(ctx context.Context, q view.SumQuery) ([]view.WorkSum, error)
}

const (
	mostRuns   = 200       // that are told one by one
	paceWindow = time.Hour // of the throughput
)

// snapshot is what one look at the store saw, by source.
type snapshot struct {
	at         time.Time
	progress   map[string]Progress
	throughput map[string]Throughput
	findings   map[string]view.Finding // by what they are about
	order      []string                // of findings, the most urgent first
}

func readSnapshot(ctx context.Context, from Reader) (*snapshot, error) {
	now, err := from.Now(ctx)
	if err != nil {
		return nil, err
	}
	s := &snapshot{at: now.UTC(), progress: map[string]Progress{}, throughput: map[string]Throughput{}, findings: map[string]view.Finding{}}
	plans, err := from.RunningPlans(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range plans {
		s.addPlan(p)
	}
	runs, err := from.RunningRuns(ctx, mostRuns)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		s.addRun(r)
	}
	sums, err := from.Throughput(ctx, view.SumQuery{From: s.at.Add(-paceWindow), To: s.at})
	if err != nil {
		return nil, err
	}
	for _, sum := range sums {
		t := s.throughput[sum.Source]
		t.Source, t.Sums = sum.Source, append(t.Sums, sum)
		s.throughput[sum.Source] = t
	}
	found, err := from.Findings(ctx)
	for _, f := range found {
		s.addFinding(f)
	}
	return s, err
}

func (s *snapshot) progressOf(source string) Progress {
	if p, known := s.progress[source]; known {
		return p
	}
	return Progress{Source: source, Plans: []Plan{}, Runs: []Run{}}
}

func (s *snapshot) addPlan(p view.RunningPlan) {
	of := s.progressOf(p.Source)
	of.Plans = append(of.Plans, Plan{
		ID: p.ID, Endpoint: p.Endpoint, Operation: p.Operation, Status: p.Status, Window: p.Window, Slices: p.Total, Done: p.Done, Failed: p.Failed,
		ItemsPerSecond: p.ItemsPerSec, ReadyIn: p.ReadyIn.Seconds(), WaitsUntil: p.WaitsUntil,
	})
	s.progress[p.Source] = of
}

func (s *snapshot) addRun(r view.Run) {
	of := s.progressOf(r.Source)
	of.Runs = append(of.Runs, Run{ID: r.ID, PlanID: r.PlanID, TaskID: r.TaskID, Pages: r.Stats.Pages, Items: r.Stats.Seen, StartedAt: r.StartedAt})
	s.progress[r.Source] = of
}

// addFinding keeps a finding by what it is about. Of several alike each counts.
func (s *snapshot) addFinding(f view.Finding) {
	name := nameFinding(f)
	key := name
	for n := 2; ; n++ {
		if _, taken := s.findings[key]; !taken {
			break
		}
		key = fmt.Sprintf("%s#%d", name, n)
	}
	s.findings[key] = f
	s.order = append(s.order, key)
}

// nameFinding names a finding by its code and what it is about, never by what grows.
func nameFinding(f view.Finding) string {
	about := struct {
		Subject view.Subject
		From    time.Time
		Plan    int64
		Task    int64
	}{Subject: f.Subject, Plan: f.PlanID}
	if f.Gap != nil {
		about.From = f.Gap.Window.From // its end may move on
	}
	if f.Task != nil {
		about.Task = f.Task.ID
	}
	text, _ := fingerprint.Canonical(about) // texts and numbers always encode
	return f.Subject.Source + "\x00" + string(f.Code) + "\x00" + string(text)
}

// isOther reports whether a finding needs something else than it did.
func isOther(a, b view.Finding) bool {
	return a.Severity != b.Severity || a.Heals != b.Heals || a.Next != b.Next || a.Error != b.Error
}

// stateFor is all that a caller may know and wants to.
func (s *snapshot) stateFor(who access.Caller, source string) State {
	wants := func(of string) bool { return who.Sees(of) && (source == "" || of == source) }
	out := State{At: s.at, Progress: []Progress{}, Findings: []view.Finding{}, Throughput: []Throughput{}}
	for _, of := range slices.Sorted(maps.Keys(s.progress)) {
		if wants(of) {
			out.Progress = append(out.Progress, s.progress[of])
		}
	}
	for _, key := range s.order {
		if f := s.findings[key]; wants(f.Subject.Source) {
			out.Findings = append(out.Findings, f)
		}
	}
	for _, of := range slices.Sorted(maps.Keys(s.throughput)) {
		if wants(of) {
			out.Throughput = append(out.Throughput, s.throughput[of])
		}
	}
	return out
}

// changesTo lists what is different in a later snapshot, in an order that does not depend on
// chance. Its events have no numbers yet.
func (s *snapshot) changesTo(next *snapshot) (out []event) {
	for _, of := range keysOf(s.progress, next.progress) {
		if data := encode(next.progressOf(of)); !bytes.Equal(data, encode(s.progressOf(of))) {
			out = append(out, event{kind: kindProgress, source: of, data: data})
		}
	}
	for _, key := range keysOf(s.findings, next.findings) {
		before, was := s.findings[key]
		after, is := next.findings[key]
		switch {
		case !was:
			out = append(out, newFound(opened, after))
		case !is:
			out = append(out, newFound(resolved, before))
		case isOther(before, after):
			out = append(out, newFound(changed, after))
		}
	}
	for _, of := range keysOf(s.throughput, next.throughput) {
		after := next.throughput[of]
		after.Source, after.Sums = of, append([]view.WorkSum{}, after.Sums...)
		if data := encode(after); !sameSums(s.throughput[of].Sums, after.Sums) {
			out = append(out, event{kind: kindThroughput, source: of, data: data})
		}
	}
	return out
}

func newFound(change Change, f view.Finding) event {
	return event{kind: kindFinding, source: f.Subject.Source, data: encode(Found{change, f})}
}

// sameSums reports whether runs did the same, whatever range that was told for: it moves on
// by itself.
func sameSums(a, b []view.WorkSum) bool {
	return slices.EqualFunc(a, b, func(x, y view.WorkSum) bool {
		x.From, x.To, y.From, y.To = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		return x == y
	})
}

// keysOf returns the keys of both maps in order.
func keysOf[K cmp.Ordered, V any](a, b map[K]V) []K {
	keys := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(keys)
	return slices.Compact(keys)
}
