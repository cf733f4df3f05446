package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/surface/webui"
)

// mostPage is how large a page of the dashboard may be.
const mostPage = 200 << 10

// pageQuestions are asked by browsers and programs: every page of the dashboard that is shown by its
// address, previews too, and everything that the HTTP interface reads, as an admin gets them from a process
// that serves, while another one harvests. The list is made of the patterns of the dashboard and of
// /openapi.json: what is new is measured, or named in unmeasured with why not.
func pageQuestions(tb testing.TB, h *history) (all []question) {
	tb.Helper()
	add := func(path string) {
		all = append(all, question{"page: " + path, func(tb testing.TB, h *history) (int, error) {
			h.beside.Do(func() { h.harvestBeside() })
			return h.load(tb, h.addressOf(tb, path))
		}})
	}
	for _, pattern := range slices.Sorted(slices.Values(patternsOf(tb))) {
		method, path, _ := strings.Cut(pattern, " ")
		switch {
		case method != http.MethodGet || unmeasured[path] != "":
		case strings.Contains(path, "{at}"):
			add(strings.Replace(path, "{at}", "YEAR", 1))
			add(strings.Replace(path, "{at}", "DAY", 1))
		default:
			add(strings.TrimSuffix(path, "{$}"))
		}
	}
	var described struct {
		Paths map[string]map[string]any
	}
	h.read(tb, "/openapi.json", &described)
	for _, path := range slices.Sorted(maps.Keys(described.Paths)) {
		if described.Paths[path]["get"] != nil && unmeasured[path] == "" {
			add(path)
		}
	}
	add("/v1/batches?status=FAILED")
	add("/v1/runs?source=" + usual)
	return all
}

// unmeasured are the addresses that are not asked for, with why.
var unmeasured = map[string]string{
	"/static/{file}": "a file", "/favicon.ico": "a file", "/sources/{source}/{act}": "leads to its source", "/new-source": "leads to the editor",
	"/batches/{id}/replay": "no body is kept", "/runs/{id}/replay": "no body is kept", "/tasks/{id}/replay": "no body is kept", "/v1/batches/{id}/body": "no body is kept",
	"/cursors/{id}/accept": "no list shrank", "/v1/live": "a stream", "/v1/alerts/{id}": "nobody was told of anything", "/v1/exports/{id}/file": "nobody makes it here",
}

// patternsOf are the patterns of a dashboard that has all pages. What stands behind them is never asked.
func patternsOf(tb testing.TB) []string {
	tb.Helper()
	work := webui.Work{
		Sources: struct{ webui.Sources }{}, SourceFiles: struct{ webui.SourceFiles }{}, Plans: struct{ webui.Plans }{}, Tasks: struct{ webui.Tasks }{}, Replay: struct{ webui.Replayer }{},
		Failures: struct{ webui.Failures }{}, Quarantine: struct{ webui.Quarantine }{}, Events: struct{ webui.Events }{}, Rates: struct{ webui.Rates }{}, Cursors: struct{ webui.Cursors }{},
		Records: struct{ webui.Records }{}, Alerts: struct{ webui.Alerts }{}, Acts: struct{ webui.Acts }{}, Exports: struct{ webui.Exports }{},
	}
	for v, n := reflect.ValueOf(work), 0; n < v.NumField(); n++ {
		if v.Field(n).IsNil() {
			tb.Fatalf("pages of %s are not measured", v.Type().Field(n).Name)
		}
	}
	return webui.New(webui.Settings{Work: work, Interface: make([]view.RouteDoc, 1)}).Patterns
}

// rowsOf is where the rows are found that stand for {id}, by the beginning of a path.
var rowsOf = map[string]string{"plans": "/v1/plans", "runs": "/v1/runs", "tasks": "/v1/tasks", "batches": "/v1/batches", "cursors": "/v1/cursors", "exports": "/v1/exports", "slices": "/v1/slices",
	"quarantine": "/v1/quarantine?source=" + usual, "events": "/v1/events"}

// addressOf puts what a history has into a path.
func (h *history) addressOf(tb testing.TB, path string) string {
	tb.Helper()
	if known := h.addresses[path]; known != "" {
		return known
	}
	middle := h.Begin.Add(h.End.Sub(h.Begin) / 2)
	day := func(n int) string { return middle.AddDate(0, 0, n).Format(time.DateOnly) }
	source := usual
	if strings.Contains(path, "/record") || strings.HasSuffix(path, "/changes") {
		source = besideSource
		h.recordOf(tb) // there are some
	}
	of := strings.NewReplacer("{source}", source, "YEAR", day(0)[:4], "DAY", day(0)).Replace(path)
	topic := strings.Split(strings.TrimPrefix(strings.TrimPrefix(of, "/v1"), "/"), "/")[0]
	if before, after, named := strings.Cut(of, "{id}"); named {
		of = before + h.firstRow(tb, rowsOf[topic]) + after
	}
	query := map[string]func() string{
		"/fill": func() string { return "from=" + day(0) + "&to=" + day(1) }, "/waive": func() string { return "from=" + day(0) + "&to=" + day(1) }, "/rate/release": func() string { return "key=" + usual },
		"/set": func() string { return "to=" + day(0) }, "/alerts/silence": func() string { return "code=GAP&for=2h" }, "/exports/new": func() string { return "format=csv&source=" + h.datasetOf(tb) },
		"/records": func() string { return "source=" + besideSource }, "/record": func() string { return "id=" + url.QueryEscape(h.recordOf(tb)) }, "/v1/quarantine": func() string { return "source=" + usual },
		"/quarantine/" + usual: func() string { return h.groupOf(tb) }, "/quarantine/" + usual + "/requeue": func() string { return h.groupOf(tb) }, "/quarantine/" + usual + "/discard": func() string { return h.groupOf(tb) },
	}
	for _, end := range slices.Sorted(maps.Keys(query)) {
		if strings.HasSuffix(of, end) && !(end == "/records" && strings.HasPrefix(of, "/v1/")) {
			before, _, _ := strings.Cut(of, "?")
			of = before + "?" + query[end]()
		}
	}
	if h.addresses == nil {
		h.addresses = map[string]string{}
	}
	h.addresses[path] = of
	return of
}

// firstRow is the number of the newest row of a list. Nobody asked for an export before, so one is asked for.
func (h *history) firstRow(tb testing.TB, list string) string {
	tb.Helper()
	if list == rowsOf["exports"] {
		h.exported.Do(func() {
			r := h.request(tb, http.MethodPost, list, `{"reason":"a page is measured","source":"`+usual+`"}`)
			r.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				tb.Fatal(err)
			}
			answer.Body.Close()
		})
	}
	var rows struct{ Items []struct{ ID json.Number } }
	if h.read(tb, list, &rows); len(rows.Items) == 0 {
		tb.Fatalf("%s is empty", list)
	}
	return rows.Items[0].ID.String()
}

func (h *history) datasetOf(tb testing.TB) string {
	tb.Helper()
	var rows struct {
		Items []struct{ Source, Endpoint string }
	}
	h.read(tb, "/v1/cursors?source="+usual, &rows)
	return rows.Items[0].Source + "/" + rows.Items[0].Endpoint
}

// recordOf is the id of a record that was stored meanwhile: those of the history have no text.
func (h *history) recordOf(tb testing.TB) string {
	tb.Helper()
	h.beside.Do(func() { h.harvestBeside() })
	for {
		var rows struct{ Items []struct{ ID string } }
		if h.read(tb, "/v1/sources/"+besideSource+"/records?limit=1", &rows); len(rows.Items) > 0 {
			return rows.Items[0].ID
		}
	}
}

// groupOf names a group of items in quarantine.
func (h *history) groupOf(tb testing.TB) string {
	tb.Helper()
	var rows struct {
		Items []struct{ Endpoint, Reason, Code, Path string }
	}
	h.read(tb, "/v1/quarantine/groups?source="+usual, &rows)
	if len(rows.Items) == 0 {
		tb.Fatal("nothing is in quarantine")
	}
	g := rows.Items[0]
	return url.Values{"endpoint": {g.Endpoint}, "code": {g.Code + g.Reason}, "path": {g.Path}}.Encode()
}

// loadsOfToken is how many requests are sent with one token: the entrance takes a hundred a second of each.
const loadsOfToken = 50

// request makes one with a token of an admin.
func (h *history) request(tb testing.TB, method, path, body string) *http.Request {
	tb.Helper()
	if h.loads%loadsOfToken == 0 {
		h.keys.Do(func() {
			app, err := daemon.Open(h.tb.Context(), daemon.Config{Database: h.address})
			if err != nil {
				tb.Fatal(err)
			}
			h.tb.Cleanup(func() { _ = app.Close() })
			h.app = app
		})
		text, _, err := h.app.Tokens.Create(tb.Context(), daemon.TokenWish{Name: fmt.Sprintf("bench-%d", h.loads), Role: access.Admin, Lasts: 24 * time.Hour}, ingest.Act{Actor: "bench"})
		if err != nil {
			tb.Fatal(err)
		}
		h.token = text.Reveal()
	}
	h.loads++
	r, err := http.NewRequestWithContext(tb.Context(), method, h.site+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.token)
	return r
}

// read reads a list of the HTTP interface.
func (h *history) read(tb testing.TB, path string, into any) {
	tb.Helper()
	answer, err := http.DefaultClient.Do(h.request(tb, http.MethodGet, path, ""))
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", answer.Status, body)
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
}

// How the harvest reads that runs while pages are loaded: as a polite one does, so that it has not ended when
// the last page is loaded.
const (
	besideDays   = 24 // of one plan
	besidePlans  = 20
	besideSource = "crossref"
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

// load loads a page and returns its bytes. A page that leads to another one is an answer, and so is a preview
// that says that the state of its row does not allow the act.
func (h *history) load(tb testing.TB, path string) (int, error) {
	tb.Helper()
	answer, err := http.DefaultTransport.RoundTrip(h.request(tb, http.MethodGet, path, ""))
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return 0, err
	case answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusSeeOther && answer.StatusCode != http.StatusConflict:
		return 0, fmt.Errorf("%s: %s: %.2000s", path, answer.Status, body)
	case len(body) > mostPage && !strings.HasPrefix(path, "/v1/"):
		return 0, fmt.Errorf("%s has %d bytes", path, len(body))
	}
	return len(body) + len(answer.Header.Get("Location")), nil
}
