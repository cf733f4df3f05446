package executor

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/upsim"
)

func TestCleanSlice(t *testing.T) {
	for _, mode := range []string{"scroll", "replayable"} {
		t.Run(mode, func(t *testing.T) {
			s := setup{}
			if mode == "replayable" {
				replayable(&s)
			}
			inWorld(t, s, func(w *world) {
				out := w.run()
				if out.Task != ingest.TaskSucceeded || out.Run != ingest.RunSucceeded || out.Error != "" || out.Code != "" {
					t.Errorf("%+v", out)
				}
				if s := out.Stats; s.Seen != perDay || s.Inserted != perDay || s.Pages != pages || s.Requests != pages || s.Retries != 0 || s.Restarts != 0 || s.BytesIn == 0 {
					t.Errorf("%+v", s)
				}
				w.covered()
				w.nothingLost()
				run := w.lastRun()
				if run.Status != "SUCCEEDED" || !reflect.DeepEqual(run.Stats, out.Stats) || run.Attempt != 1 || run.Worker != "worker" {
					t.Errorf("run %+v, outcome %+v", run, out.Stats)
				}
				newest := dayFrom
				for truth := range w.data.Heads() {
					if truth.Indexed.After(newest) {
						newest = truth.Indexed
					}
				}
				if !out.Observed.Equal(newest) {
					t.Errorf("observed %v, the newest work is of %v", out.Observed, newest)
				}
			})
		})
	}
}

// What is kept of each page explains it: who asked, with which token, what came.
func TestPagesLeaveEvidence(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		w.run()
		batches := w.batches()
		if len(batches) != pages {
			t.Fatalf("%d batches", len(batches))
		}
		log := w.server.Log()
		for i, b := range batches {
			if b.No != i+1 || b.Page != i+1 || b.Pass != 1 || b.Status != "SUCCEEDED" || !b.Stats.Balanced() || b.AfterToken == "" {
				t.Errorf("batch %+v", b)
			}
			if want := log[i].Query.Get("cursor"); b.BeforeToken != want {
				t.Errorf("batch %d: token %q, the request had %q", b.No, b.BeforeToken, want)
			}
			request, response := w.evidence(b.ID)
			if id := log[i].Header.Get("X-Ingest-Correlation-Id"); id != fmt.Sprintf("ing-%d-%d", b.RunID, b.No) || !strings.Contains(fmt.Sprint(request), id) {
				t.Errorf("batch %d: correlation %q, evidence %v", b.No, id, request)
			}
			if response["status"] != 200.0 || response["bytes"] == 0.0 || len(response["sha256"].(string)) != 64 {
				t.Errorf("batch %d: %v", b.No, response)
			}
		}
	})
}

// D§5.16: a slice without items is read and covered.
func TestEmptySlice(t *testing.T) {
	inWorld(t, setup{}, func(w *world) {
		for truth := range w.data.Heads() {
			w.must(w.data.Remove(truth.DOI))
		}
		if out := w.run(); out.Task != ingest.TaskSucceeded || out.Stats.Seen != 0 || out.Stats.Requests != 1 {
			t.Errorf("%+v", out)
		}
		w.covered()
		w.nothingLost()
	})
}

// A page that is exactly full at the end is followed by an empty one or none;
// either way the slice ends.
func TestLastPageExactlyFull(t *testing.T) {
	inWorld(t, setup{data: upsim.Config{PerDay: 2 * pageSize}}, func(w *world) {
		if out := w.run(); out.Task != ingest.TaskSucceeded || out.Stats.Seen != 2*pageSize || out.Stats.Requests > 3 {
			t.Errorf("%+v", out)
		}
		w.covered()
		w.nothingLost()
	})
}

// F34: one bad item a page costs that item.
func TestBadItemsAreSetAside(t *testing.T) {
	inWorld(t, setup{data: upsim.Config{BadIDEvery: 20, BadDateEvery: 50}}, func(w *world) {
		out := w.run()
		if out.Task != ingest.TaskSucceeded || out.Stats.Quarantined == 0 || out.Stats.Quarantined+out.Stats.Inserted != perDay {
			t.Errorf("%+v", out)
		}
		w.covered()
		w.nothingLost()
	})
}

// F33, D§5.16: a slice most of whose items cannot be read is a changed format.
// What could be read is kept, the slice is not covered.
func TestTooManyRejects(t *testing.T) {
	for _, every := range []int{2, 3} {
		inWorld(t, setup{data: upsim.Config{BadIDEvery: every}}, func(w *world) {
			out := w.run()
			if out.Task != ingest.TaskFailed || out.Run != ingest.RunFailed || out.Code != "REJECT_RATE" || out.Stats.Quarantined != perDay/every {
				t.Errorf("%+v", out)
			}
			if task := w.task(); task.Status != "FAILED" || task.ErrorCode != "REJECT_RATE" {
				t.Errorf("task %+v", task)
			}
			w.owed()
			w.nothingLost()
		})
	}
}

// §4.13: a page of which nothing can be understood is one piece of news, not
// fifty bad items; the endpoint stops until somebody looks.
func TestChangedFormatStopsTheEndpoint(t *testing.T) {
	inWorld(t, setup{data: upsim.Config{BadIDEvery: 1}}, func(w *world) {
		out := w.run()
		if out.Task != ingest.TaskFailed || out.Code != "SCHEMA_CHANGE" || out.Stats.Quarantined != 0 || w.server.Requests() != 1 {
			t.Errorf("%d requests, %+v", w.server.Requests(), out)
		}
		paused, is, err := w.store.Paused(t.Context(), ingest.Partition{Dataset: ingest.Dataset{Source: "crossref", Endpoint: "works"}, Operation: ingest.Harvest})
		if err != nil || !is || paused.Endpoint != "works" || !strings.Contains(paused.Reason, "none of the 50 items") {
			t.Errorf("%+v %v %v", paused, is, err)
		}
		if failed := w.batches(); len(failed) != 1 || failed[0].Status != "FAILED" {
			t.Errorf("%+v", failed)
		}
		w.owed()
		w.sane()
	})
}

// The rate counts the whole slice, however many runs it took: neither may good
// pages of an earlier run be forgotten, nor bad ones.
func TestRejectRateSpansRuns(t *testing.T) {
	for _, c := range []struct {
		every int
		want  ingest.TaskStatus
	}{{2, ingest.TaskFailed}, {20, ingest.TaskSucceeded}} {
		s := setup{data: upsim.Config{BadIDEvery: c.every}}
		replayable(&s)
		inWorld(t, s, func(w *world) {
			first, err := w.executor(dyingStore{w.store}).Execute(t.Context(), w.claim("first"))
			if err == nil {
				t.Fatalf("%+v", first)
			}
			w.takeOver()
			if out := w.run(); out.Task != c.want {
				t.Errorf("bad every %d: the second run ended %+v", c.every, out)
			}
			if c.want == ingest.TaskFailed {
				w.owed()
			} else {
				w.covered()
			}
		})
	}
}
