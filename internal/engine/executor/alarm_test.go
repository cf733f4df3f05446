package executor

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/driver/store/sqlite"
	"github.com/patra-ingest/patra/internal/engine/planner"
	"github.com/patra-ingest/patra/internal/engine/rategate"
	"github.com/patra-ingest/patra/internal/engine/transport"
)

// records is a log that several workers write to.
type records struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// gathering refuses everybody, once all have asked: all find out by themselves.
type gathering struct {
	mu   sync.Mutex
	left int
	all  chan struct{}
}

func (g *gathering) Send(context.Context, *exchange.Request) (*exchange.Response, error) {
	g.mu.Lock()
	if g.left--; g.left == 0 {
		close(g.all)
	}
	g.mu.Unlock()
	<-g.all
	return &exchange.Response{Status: 401, Header: exchange.Header{}}, nil
}

// §12.2, F30: a key that was revoked stops the source with one alarm, though
// every worker of two processes finds out by itself. Nothing is claimed until
// somebody resumes it.
func TestOneAlarmPerStop(t *testing.T) {
	const days = 8
	w := &world{T: t, clock: &clock{began: time.Now()}, wire: &wire{lose: map[string]int{}}}
	w.serve(setup{})
	w.open()
	w.chain = transport.StackSigned(&gathering{left: days, all: make(chan struct{})}, nil, rategate.New())
	to := dayFrom.AddDate(0, 0, days)
	_, _, err := planner.New(w.store).Plan(t.Context(), w.compile("http.baseUrl="+w.server.URL(), "http.allowPrivate=true", "rate.perSecond=5000", "rate.burst=50", "rate.concurrency=50", "rate.obeyHeaders=false"),
		planner.Request{Now: w.clock.read(), From: &dayFrom, To: &to, TriggerKey: "test", Scheduler: "TEST", Type: ingest.TriggerManual})
	w.must(err)

	var path string
	w.must(w.raw.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path))
	other, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Relaxed: true}, store.Options{Clock: w.clock.read})
	w.must(err)
	defer other.Close()
	log := &records{}
	processes := []*Executor{
		New(w.store, w.chain, nil, w.config, slog.New(slog.NewJSONHandler(log, nil))),
		New(other, w.chain, nil, w.config, slog.New(slog.NewJSONHandler(log, nil))),
	}
	var tasks []ingest.Work
	for range days {
		tasks = append(tasks, w.claim("worker"))
	}
	var workers sync.WaitGroup
	for i, task := range tasks {
		workers.Go(func() {
			if out, err := processes[i%2].Execute(t.Context(), task); err != nil || out.Task != ingest.TaskFailed {
				t.Errorf("task %d: %+v, %v", task.Lease.TaskID, out, err)
			}
		})
	}
	workers.Wait()

	if n := strings.Count(log.text.String(), `"alarm":"L4"`); n != 1 || strings.Count(log.text.String(), `"level":"ERROR"`) != 1 {
		t.Errorf("%d alarms:\n%s", n, &log.text)
	}
	for _, said := range []string{`"msg":"source stopped"`, `"code":"UNAUTHORIZED"`, `"source":"crossref"`, "patra source resume crossref", `"fault":"L4"`, `"httpStatus":401`, `"url":"http`} {
		if !strings.Contains(log.text.String(), said) {
			t.Errorf("the alarm does not say %s", said)
		}
	}
	var entries int
	w.must(w.raw.QueryRow("SELECT COUNT(*) FROM ing_audit_log WHERE action = 'source.pause' AND actor = 'executor'").Scan(&entries))
	if entries != 1 {
		t.Errorf("%d entries in the audit log", entries)
	}
	failed, err := w.store.Tasks(t.Context(), view.Filter{Status: string(ingest.TaskFailed)})
	w.must(err)
	if len(failed) != days {
		t.Errorf("%d of %d tasks failed: one alarm of one failure proves nothing", len(failed), days)
	}
	queues, err := other.Queues(t.Context())
	w.must(err)
	for _, q := range queues {
		if !q.Paused {
			t.Errorf("the other process still claims of %v", q.Partition)
		}
	}
	if _, resumed, err := other.ResumeSource(t.Context(), ingest.Scope{Source: "crossref"}, ingest.Act{Actor: "ann", Reason: "new key"}); err != nil || !resumed {
		t.Errorf("resumed %v, %v", resumed, err)
	}
}
