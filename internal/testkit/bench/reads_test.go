package bench

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/driver/store"
	pasts "github.com/patra-ingest/patra/internal/testkit/history"
)

// benchReads measures what people ask with commands, over a history of years: the
// time to answer must not grow with what nobody asked for (D§7).
func benchReads(b *testing.B, k kind, out *table) {
	sizes := []int{10_000, 100_000}
	if proof() {
		sizes = append(sizes, 10_000_000)
	}
	histories := make([]*history, len(sizes))
	for i, size := range sizes {
		histories[i] = newHistory(b, k, size)
	}
	for _, question := range questions(b, histories[0]) {
		b.Run(question.what, func(b *testing.B) {
			took := make([]samples, len(histories))
			repeat(b, 20, func() {
				for i, h := range histories {
					took[i].time(b, func() error {
						n, err := question.ask(b, h)
						if err == nil && n == 0 {
							b.Errorf("%s with %d batches: no answer", question.what, h.batches)
						}
						return err
					})
				}
			})
			for i, h := range histories {
				out.add(b, line{
					what: fmt.Sprintf("%s, %s batches, %s (mean / p95)", question.what, human(h.batches), k.name),
					ours: took[i].String(), reference: took[0].String(), ratio: took[i].middle(took[0]),
					reads: "time / time with 10 k batches; medians",
				})
			}
		})
	}
}

type question struct {
	what string
	ask  func(tb testing.TB, h *history) (rows int, err error)
}

func questions(tb testing.TB, h *history) []question {
	list := func(what string, f view.Filter) []question {
		return []question{
			{"list tasks " + what, func(tb testing.TB, h *history) (int, error) {
				rows, err := h.store.Tasks(tb.Context(), f)
				return len(rows), err
			}},
			{"list runs " + what, func(tb testing.TB, h *history) (int, error) {
				rows, err := h.store.Runs(tb.Context(), f)
				return len(rows), err
			}},
			{"list batches " + what, func(tb testing.TB, h *history) (int, error) {
				rows, err := h.store.Batches(tb.Context(), f)
				return len(rows), err
			}},
		}
	}
	var all []question
	all = append(all, list("of all", view.Filter{})...)
	all = append(all, list("of the usual source", view.Filter{Source: usual})...)
	all = append(all, list("of a source not read for years", view.Filter{Source: early})...)
	all = append(all, list("that failed", view.Filter{Status: "FAILED"})...)
	all = append(all, list("that failed, of a source", view.Filter{Source: usual, Status: "FAILED"})...)
	all = append(all, list("that went well", view.Filter{Status: "SUCCEEDED"})...)
	all = append(all, list("of a source that went well", view.Filter{Source: early, Status: "SUCCEEDED"})...)
	all = append(all,
		question{"show one batch", func(tb testing.TB, h *history) (int, error) {
			batch, err := h.store.Batch(tb.Context(), h.LastBatch()/2)
			return int(batch.ID), err
		}},
		question{"list the plans of the usual source", func(tb testing.TB, h *history) (int, error) {
			rows, err := h.store.PlanRows(tb.Context(), view.PlanFilter{Filter: view.Filter{Source: usual}})
			return len(rows), err
		}},
		question{"show how far a plan is", func(tb testing.TB, h *history) (int, error) {
			progress, err := h.store.Progress(tb.Context(), h.MiddlePlan())
			return progress.Total, err
		}},
		question{"add up the work of all sources", func(tb testing.TB, h *history) (int, error) {
			rows, err := h.store.Workload(tb.Context(), "")
			return len(rows), err
		}},
	)
	return slices.Concat(all, sumQuestions(), commandQuestions(), pageQuestions(tb, h))
}

// usual is a source that is read to this day, early one that was not for years.
var usual, early = pasts.SourceCode(6), pasts.SourceCode(pasts.Usual(0).Sources)

// history is a database in which much has happened, and little waits.
type history struct {
	pasts.History
	store   *store.Store
	address string
	site    string // of its dashboard
	batches int
	tb      testing.TB
	beside  sync.Once // starts the harvest that runs while pages are loaded

	keys, exported sync.Once
	app            *daemon.App // makes tokens
	token          string
	loads          int               // requests so far
	addresses      map[string]string // of pages, by what they are called
}

func newHistory(tb testing.TB, k kind, batches int) *history {
	tb.Helper()
	base := k.fresh(tb)
	h := &history{store: base.open(tb, true), address: base.address, batches: batches, tb: tb}
	var err error
	if h.History, err = pasts.Fill(tb.Context(), h.store, base.bare(tb, 1, "OFF"), pasts.Usual(batches)); err != nil {
		tb.Fatal(err)
	}
	h.site = serveDashboard(tb, h.address)
	return h
}

// commandQuestions are asked as people do: from opening the database to the last line. Only
// the start of a process is left out.
func commandQuestions() (all []question) {
	for _, words := range []string{
		"status", "status " + usual, "metrics", "stats queue", "stats throughput", "stats errors", "source list", "source show " + usual, "coverage gaps " + usual, "coverage show " + usual,
		"batch list", "run list", "task list", "plan list", "slice list --status FAILED", "quarantine groups", "quarantine list", "cursor list",
	} {
		all = append(all, question{"patra " + words, func(tb testing.TB, h *history) (int, error) {
			var text, complaints bytes.Buffer
			code := cli.Main(tb.Context(), append(strings.Fields(words), "--db", h.address, "--quiet"), &text, &complaints)
			if code != 0 && code != 9 { // 9 are findings
				return 0, fmt.Errorf("exit code %d: %s", code, complaints.String())
			}
			return bytes.Count(text.Bytes(), []byte("\n")), nil
		}})
	}
	return all
}
