package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/upsim"
)

// A harvest sends no more requests than it may, says what is left and how it goes on, and
// harvests that go on lose nothing.
func TestRequestLimitEndsAHarvestAndTheNextGoesOn(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 11, PerDay: 40, Flat: true}, upsim.Options{})
		code, out, errText := w.patra(w.harvestArgs("--max-requests", "3")...)
		if n := w.server.Requests(); n > 3 || n == 0 {
			t.Fatalf("%d requests arrived, at most 3 were allowed\n%s%s", n, out, errText)
		}
		if code != 3 || !strings.Contains(errText, "the 3 requests of --max-requests are used up. Plan 1: ") || !strings.Contains(errText, "stay owed") {
			t.Fatalf("exit %d: %s%s", code, out, errText)
		}
		if shown := w.must("plan", "show", "1"); !strings.Contains(shown, "3 of 3 requests taken (--max-requests); used up at") {
			t.Fatal(shown)
		}
		if code, out, _ := w.patra("coverage", "gaps", "crossref"); code != 9 || !strings.Contains(out, "never read, planned") {
			t.Errorf("what is left is no gap: exit %d\n%s", code, out)
		}
		w.tellsOfTheLimit()
		w.harvest(0)
		w.verify()
	})
}

// tellsOfTheLimit looks wherever somebody would look who wonders why nothing goes on: each
// place names the limit and the command that goes on, and none says that a worker is
// missing.
func (w *world) tellsOfTheLimit() {
	w.t.Helper()
	const spent, goesOn = "the 3 requests of --max-requests are used up", "patra harvest crossref"
	_, gaps, _ := w.patra("coverage", "gaps", "crossref", "-o", "json")
	_, status, _ := w.patra("status", "-o", "json")
	waiting := regexp.MustCompile(`"id": (\d+)`).FindStringSubmatch(w.must("task", "list", "--status", "QUEUED", "-o", "json"))
	if waiting == nil {
		w.t.Fatal("no task waits")
	}
	task := w.must("task", "show", waiting[1], "-o", "json")
	for place, text := range map[string]string{"gaps": gaps, "status": status, "task": task} {
		if !strings.Contains(text, spent) && !strings.Contains(text, `"code": "PLAN_HELD"`) || !strings.Contains(text, goesOn) {
			w.t.Errorf("%s does not tell of the limit:\n%s", place, text)
		}
	}
	_, text, _ := w.patra("status")
	if text = strings.Join(strings.Fields(text), " "); !strings.Contains(text, spent) || strings.Contains(text, "no patra process is running") {
		w.t.Errorf("status says\n%s", text)
	}
	if text := w.must("task", "list"); !strings.Contains(text, "REQUEST_LIMIT") {
		w.t.Errorf("the list of tasks says\n%s", text)
	}
}

// A backfill spends no more than it may over all its parts, and goes on where it was.
func TestRequestLimitEndsABackfillAndTheNextGoesOn(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 11, PerDay: 40, Flat: true}, upsim.Options{})
		w.harvest(0)
		before := w.server.Requests()
		args := []string{"backfill", "crossref", "--name", "early", "--chunk", "1d", "--order", "oldest"}
		first := append(slices.Clone(args), "--from", "2025-02-20", "--to", "2025-02-26", "--max-requests", "4")
		for _, s := range w.settings {
			first = append(first, "--set", s)
		}
		code, out, errText := w.patra(first...)
		if n := w.server.Requests() - before; n > 4 || n == 0 || code != 3 || !strings.Contains(errText, "the 4 requests of --max-requests are used up") {
			t.Fatalf("exit %d after %d requests\n%s%s", code, n, out, errText)
		}
		if _, text, _ := w.patra("status"); !strings.Contains(strings.Join(strings.Fields(text), " "), "patra backfill crossref --name early") {
			t.Errorf("status says\n%s", text)
		}
		if code, out, errText := w.patra(args...); code != 0 {
			t.Fatalf("exit %d: %s%s", code, out, errText)
		}
		if text := w.must("backfill", "show", "early"); !strings.Contains(text, "COMPLETED") {
			t.Error(text)
		}
	})
}

// Kill -9 loses requests and never sends one too many; the next process goes on under what
// is left, and under its own limit then.
func TestRequestLimitHoldsAcrossKills(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		came := newArrivals()
		w := newWorld(t, database, upsim.Config{Seed: 9, PerDay: 400}, upsim.Options{OnEntry: came.entry})
		w.faults("slow@*:delay=20ms")
		cmd, output := w.child(w.harvestArgs("--workers", "2", "--max-requests", "12", "--lease", "1s")...)
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		if !came.wait(4, ended) {
			t.Fatalf("the harvest ended too early: %s", output)
		}
		_ = cmd.Process.Kill()
		<-ended
		code, out, errText := w.patra(w.harvestArgs("--workers", "2", "--max-requests", "4", "--lease", "1s")...)
		if n := w.server.Requests(); code != 3 || n > 16 {
			t.Fatalf("exit %d, %d requests arrived, at most 16 were allowed\n%s%s", code, n, out, errText)
		}
		w.faultsOff()
		w.harvest(0)
		w.verify()
	})
}
