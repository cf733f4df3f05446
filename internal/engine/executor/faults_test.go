package executor

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// once is a fault that strikes one page of the first walk.
func once(kind string) string { return kind + "@page:3:times=1" }

// F28: turned away is not acted upon, so even a scroll goes on where it was.
func TestThrottling(t *testing.T) {
	for _, script := range []string{"429@2-4", "429@2-4:retry-after=0.02", "429@1;429@3;429@5", "429@every:2"} {
		inWorld(t, setup{faults: script}, func(w *world) {
			out := w.run()
			if out.Task != ingest.TaskSucceeded || out.Stats.Restarts != 0 || out.Stats.Throttled < 3 || out.Stats.Retries != out.Stats.Throttled || out.Stats.Requests != pages+out.Stats.Retries {
				t.Errorf("%s: %+v", script, out)
			}
			w.covered()
			w.nothingLost()
		})
	}
}

// §9.8: every answer is counted by its status, not only the last one to a request, and the
// run that is stored has the same counts. An answer that did not arrive has no status.
func TestAnswersAreCountedByStatus(t *testing.T) {
	s := setup{faults: "429@1;503@2;reset@4;429@6"}
	replayable(&s)
	inWorld(t, s, func(w *world) {
		out := w.run()
		want := ingest.StatusTally{200: pages, 429: 2, 503: 1}
		if out.Task != ingest.TaskSucceeded || !maps.Equal(out.Stats.Statuses, want) || out.Stats.Requests != pages+4 {
			t.Errorf("%+v, want %v", out, want)
		}
		runs, err := w.store.Runs(t.Context(), view.Filter{Limit: 10})
		if err != nil || len(runs) != 1 || !maps.Equal(runs[0].Stats.Statuses, want) {
			t.Errorf("stored: %+v, %v", runs, err)
		}
		w.covered()
		w.nothingLost()
	})
}

// F24, F26, F31, F38: an answer of a scroll is lost, cut short or no page at
// all. The same token would give the next page, so the slice starts over:
// nothing is lost, and nothing is stored twice.
func TestBrokenAnswersOfAScroll(t *testing.T) {
	for _, kind := range []string{"truncate-gzip", "truncate-json", "reset", "lost-answer", "html-200", "error-200", "500", "502", "503", "504"} {
		inWorld(t, setup{faults: once(kind)}, func(w *world) {
			out := w.run()
			if out.Task != ingest.TaskSucceeded || out.Stats.Restarts != 1 || out.Stats.Requests != 3+pages {
				t.Errorf("%s: %+v", kind, out)
			}
			if out.Stats.Inserted != perDay || out.Stats.Unchanged != 2*pageSize {
				t.Errorf("%s: %d inserted, %d unchanged; two pages are read twice", kind, out.Stats.Inserted, out.Stats.Unchanged)
			}
			passes := map[int]int{}
			for _, b := range w.batches() {
				passes[b.Pass]++
			}
			if passes[1] != 2 || passes[2] != pages || len(passes) != 2 {
				t.Errorf("%s: batches by pass %v", kind, passes)
			}
			w.covered()
			w.nothingLost()
		})
	}
}

// The same faults where the same token gives the same page: it is asked for
// again, and nothing starts over.
func TestBrokenAnswersOfAReplayableWalk(t *testing.T) {
	for _, kind := range []string{"truncate-gzip", "truncate-json", "reset", "lost-answer", "html-200", "error-200", "500", "502", "503", "504"} {
		s := setup{faults: once(kind)}
		replayable(&s)
		inWorld(t, s, func(w *world) {
			out := w.run()
			if out.Task != ingest.TaskSucceeded || out.Stats.Restarts != 0 || out.Stats.Seen != perDay || out.Stats.Pages != pages {
				t.Errorf("%s: %+v", kind, out)
			}
			if n := w.server.Requests(); n != pages+1 {
				t.Errorf("%s: %d requests for %d pages and one fault", kind, n, pages)
			}
			w.covered()
			w.nothingLost()
		})
	}
}

// A first page can always be asked for again: no walk is lost with it.
func TestBrokenFirstPage(t *testing.T) {
	for _, kind := range []string{"truncate-gzip", "lost-answer", "html-200", "504"} {
		inWorld(t, setup{faults: kind + "@1-2"}, func(w *world) {
			if out := w.run(); out.Task != ingest.TaskSucceeded || out.Stats.Restarts != 0 {
				t.Errorf("%s: %+v", kind, out)
			}
			w.covered()
			w.nothingLost()
		})
	}
}

// F35: a page that is served twice is stored once, and does not pass for progress.
func TestDuplicatePage(t *testing.T) {
	for _, mode := range []string{"scroll", "replayable"} {
		s := setup{faults: once("duplicate-page")}
		if mode == "replayable" {
			replayable(&s)
		}
		inWorld(t, s, func(w *world) {
			out := w.run()
			if out.Task != ingest.TaskSucceeded || out.Stats.Inserted != perDay || out.Stats.Unchanged != pageSize || out.Stats.Seen != perDay+pageSize {
				t.Errorf("%s: %+v", mode, out)
			}
			w.covered()
			w.nothingLost()
		})
	}
}

// A page that vanished without a trace shows in the count: the slice is not
// believed and starts over.
func TestShortCount(t *testing.T) {
	inWorld(t, setup{faults: "429@page:3:times=1:advance=true"}, func(w *world) {
		out := w.run()
		if out.Task != ingest.TaskSucceeded || out.Stats.Restarts != 1 {
			t.Errorf("%+v", out)
		}
		w.covered()
		w.nothingLost()
	})
}

// A page that comes twice must not make up for one that vanished.
func TestDuplicateDoesNotHideAShortCount(t *testing.T) {
	inWorld(t, setup{faults: once("duplicate-page") + ";429@page:4:times=1:advance=true"}, func(w *world) {
		out := w.run()
		if out.Task != ingest.TaskSucceeded || out.Stats.Restarts != 1 {
			t.Errorf("%+v", out)
		}
		w.covered()
		w.nothingLost()
	})
}

// If it vanishes every time, the slice is put back, then given up; it is never
// covered, and what was delivered is kept.
func TestShortCountForEver(t *testing.T) {
	inWorld(t, setup{faults: "429@page:3:advance=true", config: Config{MaxRestarts: 2}, settings: []string{"retry.taskAttempts=2"}}, func(w *world) {
		out := w.run()
		if out.Task != ingest.TaskScheduled || out.Run != ingest.RunFailed || out.Code != "SHORT_COUNT" || out.Stats.Restarts != 2 || !strings.Contains(out.Error, "announced 230 at first") {
			t.Errorf("%+v", out)
		}
		if wait := out.NotBefore.Sub(w.clock.read()); wait < 0 || wait > 10*time.Second {
			t.Errorf("tried again in %v", wait)
		}
		w.owed()
		w.clock.advance(time.Minute)
		if n, err := w.store.Promote(t.Context(), 10); n != 1 || err != nil {
			t.Fatalf("%d promoted, %v", n, err)
		}
		if out := w.run(); out.Task != ingest.TaskFailed || out.Code != "SHORT_COUNT" {
			t.Errorf("second run: %+v", out)
		}
		if task := w.task(); task.Status != "FAILED" || task.Attempts != 2 || task.LeaseOwner != "" {
			t.Errorf("task %+v", task)
		}
		w.owed()
		w.sane()
	})
}

// F37: a cursor the upstream no longer knows.
func TestExpiredCursor(t *testing.T) {
	for _, mode := range []string{"scroll", "replayable"} {
		s := setup{faults: once("expire-cursor")}
		if mode == "replayable" {
			replayable(&s)
		}
		inWorld(t, s, func(w *world) {
			out := w.run()
			if out.Task != ingest.TaskSucceeded || out.Stats.Restarts != 1 {
				t.Errorf("%s: %+v", mode, out)
			}
			w.covered()
			w.nothingLost()
		})
	}
}

// twoGlances are the requests that look whether cutting a slice could help.
const twoGlances = 2

// F36: a walk that never ends is stopped by its budget and is not covered.
func TestBudgets(t *testing.T) {
	for setting, requests := range map[string]int{
		"paging.maxPages=2":      2,
		"slicing.maxRequests=3":  3,
		"slicing.maxRecords=120": 3,
	} {
		inWorld(t, setup{settings: []string{setting}}, func(w *world) {
			out := w.run()
			if out.Task != ingest.TaskPartial || out.Run != ingest.RunPartial || out.Code != "BUDGET" || w.server.Requests() != requests+twoGlances {
				t.Errorf("%s: %d requests, %+v", setting, w.server.Requests(), out)
			}
			if out.Stats.Inserted != requests*pageSize {
				t.Errorf("%s: what was read is not kept: %+v", setting, out.Stats)
			}
			w.owed()
			w.sane()
		})
	}
}

// F29: an upstream that is down costs a bounded number of requests; the task is
// tried again later and then given up.
func TestUpstreamDown(t *testing.T) {
	inWorld(t, setup{faults: "503@*", settings: []string{"retry.maxAttempts=3", "retry.taskAttempts=3"}}, func(w *world) {
		for attempt, want := range []ingest.TaskStatus{ingest.TaskScheduled, ingest.TaskScheduled, ingest.TaskFailed} {
			out := w.run()
			// The third looks whether something else is answered: then the page would be to blame.
			if out.Task != want || out.Code != "SERVER_ERROR" || out.Stats.Requests != []int{3, 3, 5}[attempt] {
				t.Errorf("attempt %d: %+v", attempt+1, out)
			}
			w.clock.advance(time.Hour)
			if _, err := w.store.Promote(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
		}
		w.owed()
		w.sane()
		failed := w.batches()
		if len(failed) != 3 || failed[0].Status != "FAILED" || !strings.Contains(failed[0].Error, "503") {
			t.Fatalf("%+v", failed)
		}
		if _, response := w.evidence(failed[0].ID); response["status"] != 503.0 {
			t.Errorf("evidence %v", response)
		}
	})
}

// F28: a wait longer than a task may sit out puts it back with that wait.
func TestLongRetryAfter(t *testing.T) {
	inWorld(t, setup{faults: "429@3:retry-after=7200"}, func(w *world) {
		out := w.run()
		if out.Task != ingest.TaskScheduled || out.Code != "RATE_LIMITED" || w.server.Requests() != 3 {
			t.Errorf("%d requests, %+v", w.server.Requests(), out)
		}
		if wait := out.NotBefore.Sub(w.clock.read()); wait < 7100*time.Second || wait > 7200*time.Second {
			t.Errorf("put back for %v", wait)
		}
		if task := w.task(); task.Status != "SCHEDULED" || !task.ScheduledAt.Equal(out.NotBefore) || task.LeaseOwner != "" {
			t.Errorf("%+v", task)
		}
		w.owed()
		w.sane()
	})
}

// A request the upstream refuses for good is not tried again.
func TestRefusedForGood(t *testing.T) {
	inWorld(t, setup{settings: []string{"request.query.unheard=1"}}, func(w *world) {
		out := w.run()
		if out.Task != ingest.TaskFailed || out.Code != "BAD_REQUEST" || w.server.Requests() != 1 {
			t.Errorf("%d requests, %+v", w.server.Requests(), out)
		}
		w.owed()
		w.sane()
	})
}

// D§5.11: the filter knows days only; what came of the day beyond the slice is
// kept, and nobody wonders at it.
func TestRestOfADayIsKept(t *testing.T) {
	noonish := dayFrom.Add(11 * time.Hour)
	inWorld(t, setup{byDay: true}, func(w *world) {
		work := w.claim("worker")
		work.Window.To = noonish
		out, err := w.executor(w.store).Execute(t.Context(), work)
		w.must(err)
		if out.Task != ingest.TaskSucceeded || out.Stats.Inserted != perDay || out.Stats.Outside+out.Stats.OutsideKept != 0 {
			t.Errorf("%+v", out)
		}
		w.sane()
	})
}

// F39: works that are touched while a walk reads its snapshot are stored as the
// walk saw them; the slice is complete all the same.
func TestWorksTouchedDuringTheWalk(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.on(3, func() {
			for truth := range w.data.Heads() {
				w.must(w.data.Touch(truth.DOI, dayTo.Add(time.Hour), true))
			}
		})
		if out := w.run(); out.Task != ingest.TaskSucceeded || out.Stats.Inserted != perDay || out.Stats.Seen != perDay {
			t.Errorf("%+v", out)
		}
		w.covered()
		w.sane()
	})
}

// The failed page of a run that ended is kept with what explains it.
func TestFailedPageIsKept(t *testing.T) {
	inWorld(t, setup{faults: "html-200@*", settings: []string{"retry.maxAttempts=2"}}, func(w *world) {
		out := w.run()
		if out.Code != "BAD_BODY" || out.Task != ingest.TaskScheduled {
			t.Errorf("%+v", out)
		}
		list, err := w.store.Batches(t.Context(), view.Filter{Status: "FAILED"})
		if err != nil || len(list) != 1 || list[0].Page != 1 || list[0].BeforeToken != "*" {
			t.Fatalf("%+v %v", list, err)
		}
		if _, response := w.evidence(list[0].ID); response["status"] != 200.0 || !strings.Contains(response["sample"].(string), "<html") {
			t.Errorf("%v", response)
		}
	})
}
