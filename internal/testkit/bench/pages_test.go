package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/patra-ingest/patra/internal/daemon"
)

// mostPage is how large a page of the dashboard may be.
const mostPage = 200 << 10

// pageQuestions are asked by browsers and programs: pages of the dashboard and lists of the HTTP
// interface, as a viewer gets them from a process that serves, while another one harvests.
func pageQuestions() (all []question) {
	for what, path := range map[string]func(h *history) string{
		"overview":                    func(*history) string { return "/" },
		"map of all sources":          func(*history) string { return "/coverage" },
		"map of a source":             func(*history) string { return "/coverage/" + usual },
		"sources":                     func(*history) string { return "/sources" },
		"a source":                    func(*history) string { return "/sources/" + usual },
		"plans":                       func(*history) string { return "/plans" },
		"a plan":                      func(h *history) string { return fmt.Sprintf("/plans/%d", h.MiddlePlan()) },
		"a batch":                     func(h *history) string { return fmt.Sprintf("/batches/%d", h.LastBatch()/2) },
		"cursors":                     func(*history) string { return "/cursors" },
		"a cursor":                    func(h *history) string { return fmt.Sprintf("/cursors/%d", h.LastCursor()) },
		"queue and rate":              func(*history) string { return "/rate" },
		"errors":                      func(*history) string { return "/errors" },
		"alerts":                      func(*history) string { return "/alerts" },
		"list of batches":             func(*history) string { return "/v1/batches" },
		"list of batches that failed": func(*history) string { return "/v1/batches?status=FAILED" },
		"list of tasks":               func(*history) string { return "/v1/tasks" },
		"list of runs of a source":    func(*history) string { return "/v1/runs?source=" + usual },
		"list of plans":               func(*history) string { return "/v1/plans" },
		"list of slices":              func(*history) string { return "/v1/slices" },
		"list of events":              func(*history) string { return "/v1/events" },
		"list of cursors":             func(*history) string { return "/v1/cursors" },
	} {
		all = append(all, question{"page: " + what, func(tb testing.TB, h *history) (int, error) {
			h.beside.Do(func() { h.harvestBeside() })
			return h.load(path(h))
		}})
	}
	return all
}

// How the harvest reads that runs while pages are loaded: as a polite one does, so that it has not ended when
// the last page is loaded.
const (
	besideDays  = 24 // of one plan
	besidePlans = 20
)

// harvestBeside harvests into the same database, with a program of its own, until the history goes. Pages are
// for people who watch work that goes on.
func (h *history) harvestBeside() {
	tb := h.tb
	u := startUpstream(tb, works{days: besideDays * besidePlans, perDay: 100, bytes: 2000}, func(next http.Handler) http.Handler { return next })
	compiled := u.compile(tb, "rate.perSecond=10", "rate.burst=1", "paging.size=50")
	app, err := daemon.Open(tb.Context(), daemon.Config{Database: h.address, Workers: fetchers, Raw: noBodies})
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() {
		var err error
		for n := 0; n < besidePlans && err == nil; n++ {
			from := u.days[n*besideDays]
			to := from.AddDate(0, 0, besideDays)
			_, err = app.Harvest(ctx, compiled, daemon.NewRequest(u.to().AddDate(0, 0, 1), &from, &to), daemon.Watch{})
		}
		ended <- err
	}()
	tb.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && ctx.Err() == nil {
			tb.Error(err)
		}
		_ = app.Close()
	})
}

// load loads a page and returns its bytes.
func (h *history) load(path string) (int, error) {
	answer, err := http.Get(h.site + path)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return 0, err
	case answer.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("%s: %s: %.200s", path, answer.Status, body)
	case len(body) > mostPage:
		return 0, fmt.Errorf("%s has %d bytes", path, len(body))
	}
	return len(body), nil
}
