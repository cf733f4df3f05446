package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/span"
	"github.com/patra-ingest/patra/internal/testkit/check"
	"github.com/patra-ingest/patra/internal/testkit/otlp"
	"github.com/patra-ingest/patra/internal/upsim"
)

// treeOfWork is §14.6 as spans of a harvest show it.
var treeOfWork = []string{
	"claim", "claim > run", "claim > run > batch", "claim > run > batch > GET", "claim > run > batch > commit",
	"trigger", "trigger > compile", "trigger > slice",
}

// The spans of one harvest arrive at a collector and form the tree of §14.6: what was
// planned, and for each task what became of it, with a link to where it was planned. The
// upstream is told the span of each request, and the ledger keeps who belongs together.
func TestSpansOfAHarvestFormTheTree(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		to := otlp.Start(t)
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.URL)
		t.Setenv("OTEL_SERVICE_NAME", "harvests")
		w := newWorld(t, database, upsim.Config{Seed: 7, PerDay: 120, Flat: true}, upsim.Options{})
		w.faults("503@1")
		w.mustAsProcess(w.harvestArgs()...)
		if got := to.Tree(); !slices.Equal(got, treeOfWork) {
			t.Fatalf("the tree is\n%s", strings.Join(got, "\n"))
		}
		w.checkPlanned(to)
		w.checkRequests(to)
		w.checkTold(to)
	})
}

// mustAsProcess runs the program as a process that has to succeed.
func (w *world) mustAsProcess(args ...string) string {
	w.t.Helper()
	cmd, output := w.child(args...)
	if err := cmd.Wait(); err != nil {
		w.t.Fatalf("patra %s: %v\n%s", args[0], err, output)
	}
	return output.String()
}

// checkPlanned: one trigger, one span for each slice, and one claim for each task, which
// points to the trigger; the rows of tasks and runs name the same spans.
func (w *world) checkPlanned(to *otlp.Receiver) {
	w.t.Helper()
	triggers, slicesCut, claims, runs := to.Named("trigger"), to.Named("slice"), to.Named("claim"), to.Named("run")
	if len(triggers) != 1 || len(slicesCut) != 6 || len(claims) != 6 || len(runs) != 6 {
		w.t.Fatalf("%d triggers, %d slices, %d claims, %d runs", len(triggers), len(slicesCut), len(claims), len(runs))
	}
	from := triggers[0]
	if from.Attributes[span.Source] != "crossref" || from.Attributes[span.PlanID] != int64(1) || from.Resource["service.name"] != "harvests" {
		w.t.Errorf("%+v", from)
	}
	for _, c := range claims {
		if len(c.Links) != 1 || c.Links[0] != (otlp.Link{TraceID: from.TraceID, ID: from.ID}) || c.TraceID == from.TraceID {
			w.t.Errorf("claim %+v", c)
		}
		for _, name := range []string{span.Source, span.Endpoint, span.Operation, span.PlanID, span.SliceID, span.TaskID, span.Priority} {
			if c.Attributes[name] == nil {
				w.t.Errorf("a claim does not tell %s: %v", name, c.Attributes)
			}
		}
	}
	if got := w.texts("SELECT DISTINCT correlation_id FROM ing_task"); !slices.Equal(got, []string{from.Traceparent()}) {
		w.t.Errorf("tasks were planned in %v, want %s", got, from.Traceparent())
	}
	var named []string
	for _, r := range runs {
		named = append(named, r.Traceparent())
	}
	slices.Sort(named)
	if got := w.texts("SELECT correlation_id FROM ing_task_run ORDER BY correlation_id"); !slices.Equal(got, named) {
		w.t.Errorf("runs were worked on in %v, want %v", got, named)
	}
	if shown := w.must("run", "show", fmt.Sprint(runs[0].Attributes[span.RunID])); !strings.Contains(shown, runs[0].TraceID) {
		w.t.Errorf("run show does not name the trace %s:\n%s", runs[0].TraceID, shown)
	}
}

// checkRequests: one span for each request the upstream got, under the name it was told.
func (w *world) checkRequests(to *otlp.Receiver) {
	w.t.Helper()
	spans := map[string]otlp.Span{}
	for _, s := range to.Named("GET") {
		spans[s.Traceparent()] = s
	}
	log := w.server.Log()
	if len(spans) != len(log) {
		w.t.Errorf("%d spans for %d requests", len(spans), len(log))
	}
	byID := map[string]otlp.Span{}
	for _, s := range to.Named("batch") {
		byID[s.ID] = s
	}
	failed := 0
	for _, e := range log {
		s, known := spans[e.Header.Get("Traceparent")]
		if !known {
			w.t.Fatalf("the upstream was told %q, which is no span", e.Header.Get("Traceparent"))
		}
		if s.Attributes[span.ResponseCode] != int64(e.Status) || s.Attributes[span.Method] != "GET" || s.Attributes[span.Host] != "127.0.0.1" || !strings.Contains(fmt.Sprint(s.Attributes[span.URL]), e.Path) {
			w.t.Errorf("request %+v has the span %+v", e, s)
		}
		batch := byID[s.Parent]
		if batch.Attributes[span.CorrelationID] != e.Header.Get("X-Ingest-Correlation-Id") {
			w.t.Errorf("the upstream was told %s, the span says %v", e.Header.Get("X-Ingest-Correlation-Id"), batch.Attributes)
		}
		if s.Failed != "" {
			failed++
			if e.Status != http.StatusServiceUnavailable || s.Failed != "503" || s.Attributes[span.ErrorLevel] != "L1" || batch.Failed != "" {
				w.t.Errorf("%+v %+v", e, s)
			}
		}
	}
	if failed != 1 {
		w.t.Errorf("%d requests failed, want one", failed)
	}
}

// checkTold: the span of a batch tells page and whether there is a next one, and nothing
// that arrived holds a token of paging.
func (w *world) checkTold(to *otlp.Receiver) {
	w.t.Helper()
	ends := 0
	for _, b := range to.Named("batch") {
		if b.Attributes[span.Page] == nil || b.Attributes[span.BatchID] == nil || b.Attributes[span.HasNext] == nil {
			w.t.Errorf("%v", b.Attributes)
		}
		if b.Attributes[span.HasNext] == false {
			ends++
		}
		if b.Attributes[span.Page] != int64(1) && len(fmt.Sprint(b.Attributes[span.Token])) != 12 {
			w.t.Errorf("token %v of page %v", b.Attributes[span.Token], b.Attributes[span.Page])
		}
	}
	if ends != 6 {
		w.t.Errorf("%d of the pages were the last of their slice, want 6", ends)
	}
	tokens := w.texts("SELECT DISTINCT after_token FROM ing_task_run_batch WHERE after_token IS NOT NULL")
	if len(tokens) < 6 {
		w.t.Fatalf("only %d tokens", len(tokens))
	}
	for _, body := range to.Bodies() {
		for _, token := range tokens {
			if bytes.Contains(body, []byte(token[:len(token)/2])) { // its end is written differently in an address
				w.t.Errorf("token %q left the machine", token)
			}
		}
	}
}

// texts reads a column of texts.
func (w *world) texts(query string) (out []string) {
	w.t.Helper()
	db, err := check.Open(w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(w.t.Context(), query)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text *string
		if err := rows.Scan(&text); err != nil {
			w.t.Fatal(err)
		}
		if text != nil {
			out = append(out, *text)
		}
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// A process that serves sends what it has when it is told to stop. What it worked on points
// to the trigger of another process.
func TestSpansOfAServeArriveWhenItStops(t *testing.T) {
	to := otlp.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "3600000") // nothing leaves by itself
	w := newWorld(t, databases["sqlite"](t), upsim.Config{Seed: 7, PerDay: 20, Flat: true}, upsim.Options{})
	w.mustAsProcess(append([]string{"plan", "crossref", "--from", "2025-03-03", "--to", "2025-03-04", "--offline"}, w.setArgs()...)...)
	if got, want := to.Tree(), []string{"trigger", "trigger > compile", "trigger > slice"}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
	cmd, output := w.child("serve", "--roles", "executor")
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for len(w.texts("SELECT status_code FROM ing_task WHERE status_code = 'SUCCEEDED'")) == 0 {
		<-look.C
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if got := to.Tree(); !slices.Equal(got, treeOfWork) {
		t.Errorf("the tree is\n%s\n%s", strings.Join(got, "\n"), output)
	}
	if claim, trigger := to.Named("claim")[0], to.Named("trigger")[0]; len(claim.Links) != 1 || claim.Links[0].ID != trigger.ID {
		t.Errorf("the claim of one process does not point to the trigger of another: %+v", claim)
	}
}

// A collector that is not there costs nothing but its spans, and whoever looks is told.
func TestHarvestWithoutItsCollector(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hidden-token")
	w := newWorld(t, databases["sqlite"](t), upsim.Config{Seed: 7, PerDay: 50, Flat: true}, upsim.Options{})
	args := slices.DeleteFunc(w.harvestArgs("-v"), func(a string) bool { return a == "-q" })
	said := w.mustAsProcess(args...)
	for text, n := range map[string]int{"spans do not reach the collector": 1, "spans did not reach the collector at 127.0.0.1:1": 1, "hidden": 0} {
		if strings.Count(said, text) != n {
			t.Errorf("%q is told %d times, want %d:\n%s", text, strings.Count(said, text), n, said)
		}
	}
	w.verify()
}

// Variables with mistakes are named, and the work goes on.
func TestHarvestWithBadTraceSettings(t *testing.T) {
	to := otlp.Start(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", to.URL)
	t.Setenv("OTEL_TRACES_SAMPLER", "sometimes")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")
	w := newWorld(t, databases["sqlite"](t), upsim.Config{Seed: 7, PerDay: 20, Flat: true}, upsim.Options{})
	args := slices.DeleteFunc(w.harvestArgs(), func(a string) bool { return a == "-q" })
	said := w.mustAsProcess(args...)
	for _, text := range []string{"unsupported sampler: sometimes", `OTEL_EXPORTER_OTLP_TIMEOUT is "soon": expected milliseconds`} {
		if strings.Count(said, text) != 1 {
			t.Errorf("%q is not told once:\n%s", text, said)
		}
	}
	if len(to.Spans()) == 0 {
		t.Error("no span arrived")
	}
}

// setArgs are the settings of the world as flags.
func (w *world) setArgs() (out []string) {
	for _, s := range w.settings {
		out = append(out, "--set", s)
	}
	return out
}
