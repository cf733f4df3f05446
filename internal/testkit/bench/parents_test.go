package bench

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/sector"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/engine/planner"
)

// shelves is a source with two lists: books are read for every stored shelf.
const shelves = `source: library
name: Library
http: {baseUrl: %q, allowHttp: true, allowPrivate: true}
rate: {perSecond: 100000, burst: 1000}
filter: {field: updated, precision: SECOND, to: EXCLUSIVE}
window: {safetyLag: PT0S, earliest: "2000-01-01"}
slicing: {step: P20000D}
endpoints:
  shelves:
    role: SEARCH
    paging: {type: OFFSET, size: 1000, stable: true}
    request: {path: /shelves, query: {from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, total: $.count}
  books:
    role: SEARCH
    slicing: {step: %s}
    paging: {type: OFFSET, size: 100, stable: true}
    partitions: {shelf: {from: {endpoint: shelves, value: $.id}}}
    request: {path: "/books", query: {shelf: "${partition.shelf}", from: "${filter.from}", to: "${filter.to}", offset: "${page.offset}", limit: "${page.size}"}}
    response: {items: $.items, id: $.id, updatedAt: $.updated, total: $.count}
`

// runsOfMany is how many runs a million parents are divided into, and so many slices has each plan that is measured.
const runsOfMany = 512

// benchParents measures what a plan, a claim, the end of a slice and a look at the state cost where the parts of a list are very
// many stored records, against a list with one such record. Plans have as many slices: runs of parents here, hours there.
func benchParents(b *testing.B, k kind, out *table) {
	many := 100_000
	if k.name == "SQLite" || proof() {
		many = 1_000_000
	}
	worlds := []*parentWorld{newParentWorld(b, k, 1), newParentWorld(b, k, many)}
	for _, what := range []struct {
		name string
		took func(w *parentWorld) samples
	}{
		{"plan, per slice,", func(w *parentWorld) samples { return w.planned }},
		{"claim a slice", func(w *parentWorld) samples { return w.claimed }},
		{"end a slice", func(w *parentWorld) samples { return w.ended }},
		{"patra status", func(w *parentWorld) samples { return w.asked }},
	} {
		b.Run(what.name, func(b *testing.B) {
			if len(worlds[0].planned.wall) == 0 {
				repeat(b, 4, func() {
					for _, w := range worlds {
						w.round(b)
					}
				})
			}
			ours, one := what.took(worlds[1]), what.took(worlds[0])
			out.add(b, line{
				what: fmt.Sprintf("%s of a list with %s parts from stored records, %s (mean / p95)", what.name, human(many), k.name),
				ours: ours.String(), reference: one.String(), ratio: ours.middle(one), reads: "time / time with one part; medians",
			})
		})
	}
}

// parentWorld is a program on its own database that has read so many shelves, and plans their books.
type parentWorld struct {
	ledger
	address string
	books   *spec.Compiled
	perPlan int // slices
	rounds  int

	planned, claimed, ended, asked samples
}

func newParentWorld(b *testing.B, k kind, shelves int) *parentWorld {
	b.Helper()
	server := httptest.NewServer(shelfServer(shelves))
	b.Cleanup(server.Close)
	base := k.fresh(b)
	w := &parentWorld{ledger: ledger{store: base.open(b, false)}, address: base.address}
	app, err := daemon.Open(b.Context(), daemon.Config{Database: base.address, Raw: noBodies})
	if err != nil {
		b.Fatal(err)
	}
	defer app.Close()
	src := librarySource(b, server.URL, shelves)
	if _, err := app.Definitions.Apply(b.Context(), src, registry.ApplyOptions{}); err != nil {
		b.Fatal(err)
	}
	parents := compileEndpoint(b, src, "shelves")
	end := firstDay.AddDate(0, 0, 1)
	if _, err := app.Harvest(b.Context(), parents, daemon.NewRequest(end, nil, nil), daemon.Watch{}); err != nil {
		b.Fatal(err)
	}
	n, err := w.store.CountParents(b.Context(), ingest.Dataset{Source: "library", Endpoint: "shelves"})
	if err != nil || n < int64(shelves)*9/10 {
		b.Fatalf("%d shelves are stored, want about %d: %v", n, shelves, err)
	}
	w.books, w.perPlan = compileEndpoint(b, src, "books"), runsOfMany
	if shelves > 1 {
		w.perPlan = sector.RunsFor(n)
	}
	return w
}

func librarySource(tb testing.TB, address string, count int) *registry.Source {
	tb.Helper()
	step := "PT1H"
	if count > 1 {
		step = "P30D" // a round is one window, in runs
	}
	src, _, err := registry.Decode("library.yaml", fmt.Appendf(nil, shelves, address, step))
	if err != nil {
		tb.Fatal(err)
	}
	return src
}

func compileEndpoint(tb testing.TB, src *registry.Source, endpoint string) *spec.Compiled {
	tb.Helper()
	c, err := daemon.Compile(src, endpoint, ingest.Harvest, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// shelfServer serves so many shelves, all of which changed on the first day.
func shelfServer(count int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		offset, _ := strconv.Atoi(r.FormValue("offset"))
		limit, _ := strconv.Atoi(r.FormValue("limit"))
		body := fmt.Appendf(nil, `{"count": %d, "items": [`, count)
		for id := offset; id < min(offset+limit, count); id++ {
			if id > offset {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `{"id": "shelf-%d", "updated": %q}`, id, firstDay.Format(time.RFC3339))
		}
		_, _ = w.Write(append(body, "]}"...)) // a client that went away is its own problem
	}
}

// round plans the books of the next 512 hours, reads nothing of them, and asks how the source stands.
func (w *parentWorld) round(b *testing.B) {
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(w.rounds) * runsOfMany * time.Hour)
	to := from.Add(runsOfMany * time.Hour)
	var plan samples
	plan.time(b, func() error {
		request := planner.Request{Now: firstDay, From: &from, To: &to, TriggerKey: fmt.Sprint(w.rounds), Scheduler: "TEST", Type: "MANUAL"}
		_, d, err := planner.New(w.store).Plan(b.Context(), w.books, request)
		if err == nil && len(d.Slices) != w.perPlan {
			err = fmt.Errorf("%d slices, want %d", len(d.Slices), w.perPlan)
		}
		return err
	})
	w.planned.wall = append(w.planned.wall, plan.wall[0]/time.Duration(w.perPlan))
	queues, err := w.store.Queues(b.Context())
	if err != nil || len(queues) != 1 {
		b.Fatalf("queues %v, %v", queues, err)
	}
	for n := range w.perPlan {
		var work ingest.Work
		w.claimed.time(b, func() (err error) {
			work, err = claim(b.Context(), w.store, queues[0].PartitionID, w.rounds*runsOfMany+n)
			return err
		})
		w.work = []ingest.Work{work}
		end := w.start(b, 0)
		w.ended.time(b, func() error { return w.store.FinishRun(b.Context(), end) })
	}
	w.asked.time(b, func() error {
		var text, complaints bytes.Buffer
		if code := cli.Main(b.Context(), []string{"status", "--db", w.address, "--quiet"}, &text, &complaints); code != 0 && code != 9 { // 9 are findings
			return fmt.Errorf("exit code %d: %s", code, complaints.String())
		}
		return nil
	})
	w.rounds++
}
