package bench

import (
	"fmt"
	"io"
	"net/http"
	"testing"
)

// mostPage is how large a page of the dashboard may be.
const mostPage = 200 << 10

// pageQuestions are asked by browsers and programs: pages of the dashboard and lists of the HTTP
// interface, as a viewer gets them from a process that serves.
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
		all = append(all, question{"page: " + what, func(tb testing.TB, h *history) (int, error) { return h.load(path(h)) }})
	}
	return all
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
