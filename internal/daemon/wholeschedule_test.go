package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// heardLog is a log that a test waits for.
type heardLog struct {
	mu    sync.Mutex
	text  strings.Builder
	heard chan struct{}
}

func (l *heardLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.heard)
	l.heard = make(chan struct{})
	return l.text.Write(line)
}

func (l *heardLog) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait blocks until a text was written n times. It fails if the writer has ended.
func (l *heardLog) wait(t *testing.T, text string, n int, ended <-chan error) {
	t.Helper()
	for {
		l.mu.Lock()
		all, heard := l.text.String(), l.heard
		l.mu.Unlock()
		if strings.Count(all, text) >= n {
			return
		}
		select {
		case <-heard:
		case err := <-ended:
			t.Fatalf("ended with %v before %q came\n%s", err, text, all)
		}
	}
}

// A list without dates is read by its schedule, and not more often than a reading counts for: of the ticks of a day the first
// reads, the others say when the next reading is due and ask for nothing, and the first of the next day reads again.
func TestServeReadsWholeListsBySchedule(t *testing.T) {
	onBothDatabases(t, func(t *testing.T, database string) {
		list, readings := &journals{}, atomic.Int64{}
		list.last.Store(57)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("offset") == "0" {
				readings.Add(1)
			}
			list.ServeHTTP(w, r)
		}))
		defer server.Close()
		src, _, err := registry.Decode("lists.yaml", fmt.Appendf(nil, wholeSource, server.URL))
		if err != nil {
			t.Fatal(err)
		}
		src.Schedule = every(time.Second)
		localstore.GiveTables(t, database)
		log, began, ahead := &heardLog{heard: make(chan struct{})}, time.Now(), atomic.Int64{}
		app, err := Open(t.Context(), Config{Database: database, Relaxed: true, Log: slog.New(slog.NewTextHandler(log, nil)), Clock: func() time.Time { return marchDay(3).Add(time.Since(began) + time.Duration(ahead.Load())) }})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		if _, err := app.ApplySource(t.Context(), src, registry.ApplyOptions{Actor: "test", Reason: "x"}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- app.Serve(ctx, []Role{RolePlanner, RoleExecutor}) }()
		const planned = "msg=planned schedule=lists/journals/HARVEST"
		log.wait(t, "status=SUCCEEDED", 1, ended)
		first := readings.Load()
		log.wait(t, planned, 2, ended)
		ahead.Add(int64(12 * time.Hour))
		log.wait(t, planned, strings.Count(log.all(), planned)+1, ended)
		said := log.all()
		if ticks, due := strings.Count(said, planned), strings.Count(said, "the next reading is due at 2025-03-04T"); due != ticks-1 {
			t.Errorf("%d of %d ticks say when the next reading is due, want all but the first", due, ticks)
		}
		if again := readings.Load(); first == 0 || again != first {
			t.Errorf("the list was asked for %d times, and %d times while its reading counts", first, again)
		}
		ahead.Add(int64(12 * time.Hour))
		log.wait(t, "status=SUCCEEDED", 2, ended)
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("served until %v", err)
		}
		if again := readings.Load(); again != 2*first {
			t.Errorf("the list was asked for %d times on the first day, %d on both", first, again)
		}
		covered, err := app.Inspect.CoverageOf(t.Context(), src)
		if err != nil || len(covered.All) != 1 || len(covered.All[0].FailedGaps()) != 0 {
			t.Fatalf("%+v %v", covered, err)
		}
		known, err := app.Cursors.ListReadings(t.Context(), covered.All[0].Cursor.ID, 0, 10)
		if err != nil || len(known) != 2 || known[0].Items != 57 || known[0].LastKept != 57 {
			t.Errorf("%+v %v", known, err)
		}
		runs, err := app.store.Runs(t.Context(), view.Filter{Limit: 9})
		if err != nil || len(runs) != 2 || runs[0].Stats.Inserted+runs[0].Stats.Updated != 0 || runs[1].Stats.Inserted != 57 {
			t.Errorf("%+v %v", runs, err)
		}
	})
}
