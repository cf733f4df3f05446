package e2e

import (
	"testing"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/upsim"
)

// Two processes on one database: on a server they share the work, on a SQLite
// file the second follows the first. When one is killed the other ends the job.
func TestSecondProcessTakesOver(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		came := newArrivals()
		w := newWorld(t, database, upsim.Config{Seed: 21, PerDay: 500}, upsim.Options{OnEntry: came.entry})
		w.settings = append(w.settings, "paging.size=25")
		w.faults("slow@*:delay=15ms")
		args := w.harvestArgs("--workers", "1", "--lease", "2s")
		first, firstOutput := w.child(args...)
		firstEnded := make(chan struct{})
		go func() {
			_ = first.Wait()
			close(firstEnded)
		}()
		if !came.wait(3, firstEnded) {
			t.Fatalf("the first process ended too early: %s", firstOutput)
		}
		second, secondOutput := w.child(args...)
		secondEnded := make(chan struct{})
		go func() {
			_ = second.Wait()
			close(secondEnded)
		}()
		if !came.wait(10, firstEnded) {
			t.Fatalf("the first process ended too early: %s", firstOutput)
		}
		_ = first.Process.Kill()
		<-firstEnded
		<-secondEnded
		if code := second.ProcessState.ExitCode(); code != 0 {
			t.Fatalf("the second process: exit %d\n%s", code, secondOutput)
		}
		w.faultsOff()
		w.verify()
		workers := map[string]int{}
		runs, err := w.open().Tasks.ListRuns(t.Context(), view.Filter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			workers[r.Worker]++
		}
		if len(workers) != 2 {
			t.Errorf("runs by worker: %v, want both processes at work", workers)
		}
	})
}
