package daemon

import (
	"context"
	"database/sql"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/core/config"
	"github.com/patra-ingest/patra/internal/engine/worklog"
	"github.com/patra-ingest/patra/internal/upsim"
)

// told is one line of a log, and the room that wrote it.
type told struct {
	room, text string
	level      slog.Level
	fields     map[string]any
}

// recorder is a log that is kept. Handlers made of it write into the same one.
type recorder struct {
	mu    *sync.Mutex
	lines *[]told
	with  []slog.Attr
}

func newRecorder() recorder { return recorder{mu: &sync.Mutex{}, lines: &[]told{}} }

func (r recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r recorder) WithGroup(string) slog.Handler            { return r }

func (r recorder) WithAttrs(more []slog.Attr) slog.Handler {
	r.with = append(slices.Clone(r.with), more...)
	return r
}

func (r recorder) Handle(_ context.Context, line slog.Record) error {
	frame, _ := runtime.CallersFrames([]uintptr{line.PC}).Next()
	room, _, _ := strings.Cut(frame.Function[strings.LastIndex(frame.Function, "/")+1:], ".")
	t := told{room: room, text: line.Message, level: line.Level, fields: map[string]any{}}
	add := func(a slog.Attr) bool {
		if _, twice := t.fields[a.Key]; twice || a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey {
			t.fields["twice"] = a.Key // a reader of JSON keeps one of them
		}
		t.fields[a.Key] = a.Value.Resolve().Any()
		return true
	}
	for _, a := range r.with {
		add(a)
	}
	line.Attrs(add)
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.lines = append(*r.lines, t)
	return nil
}

// of gives the lines of a room that say a text; empty: all of them.
func (r recorder) of(room, text string) (out []told) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range *r.lines {
		if t.room == room && (text == "" || t.text == text) {
			out = append(out, t)
		}
	}
	return out
}

// §14.5: every line of work says what it is about, under the same keys whoever writes it.
func TestEveryLineOfWorkSaysWhatItIsAbout(t *testing.T) {
	log := newRecorder()
	w := newWalkWith(t, loggingTo(log, new(1.0)), []upsim.Fault{{Kind: upsim.Fault500, Times: 3}}, nil)
	if _, err := w.harvest(); err != nil {
		t.Fatal(err)
	}
	ofTask := []string{"source", "endpoint", "operation", "trigger", "plan", "slice", "task"}
	ofRun := append(slices.Clone(ofTask), "run", "batch", "correlationId")
	for _, text := range []string{"try failed", "batch stored", "run finished"} {
		if len(log.of("executor", text)) == 0 {
			t.Errorf("nothing says %q", text)
		}
	}
	for _, line := range log.of("executor", "") {
		holdsKeys(t, line, ofRun)
	}
	for _, line := range log.of("executor", "run finished") {
		id, _ := line.fields["correlationId"].(string)
		if line.fields["batch"] == int64(0) || line.fields["plan"] == int64(0) || line.fields["source"] != "crossref" || strings.HasSuffix(id, "-0") {
			t.Errorf("%s: %v", line.text, line.fields)
		}
	}
	claimed, released := log.of("dispatch", "task claimed"), log.of("dispatch", "task released")
	if len(claimed) == 0 || len(claimed) != len(released) || len(claimed) != len(log.of("executor", "run finished")) {
		t.Errorf("%d were claimed, %d released", len(claimed), len(released))
	}
	for _, line := range append(claimed, released...) {
		holdsKeys(t, line, append(slices.Clone(ofTask), "epoch", "owner", "slot", "slots"))
		if slot, _ := line.fields["slot"].(int64); slot < 1 || slot > 3 {
			t.Errorf("%s: %v", line.text, line.fields)
		}
	}
}

func loggingTo(log recorder, sample *float64) Config {
	return Config{Log: slog.New(log), Installed: Installed{Config: config.Config{Log: config.Log{Sample: sample}}}}
}

// Of batches that went well a sample is told, and their ids decide which.
func TestBatchesAreSampled(t *testing.T) {
	for _, share := range []*float64{nil, new(0.0), new(0.3), new(1.0)} {
		log := newRecorder()
		w := newWalkWith(t, loggingTo(log, share), nil, nil)
		if _, err := w.harvest(); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", "file:"+w.file+"?_pragma=busy_timeout(60000)")
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.Query("SELECT id FROM ing_task_run_batch ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		all, want, got := 0, []int64{}, []int64{}
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				t.Fatal(err)
			}
			if all++; worklog.Sampled(id, share) {
				want = append(want, id)
			}
		}
		for _, line := range log.of("executor", "batch stored") {
			got = append(got, line.fields["batch"].(int64))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || all < 30 || share != nil && *share == 1 && len(got) != all || share != nil && *share == 0 && len(got) != 0 {
			t.Errorf("of %d batches %v were told, want %v", all, got, want)
		}
	}
}

// A run that failed and is tried again is a warning, a task that is given up an error,
// and items that could not be read are told with the place of the trouble.
func TestLevelsOfLines(t *testing.T) {
	log := newRecorder()
	w := newWalkWith(t, loggingTo(log, new(0.0)), []upsim.Fault{
		{Kind: upsim.Fault500, When: func(h upsim.Hit) bool { return strings.Contains(h.Query.Get("filter"), "from-index-date:2025-03-04") }},
		{Kind: upsim.FaultMissingID, Page: 2, Times: 1},
	}, nil, "retry.maxAttempts=1", "retry.taskAttempts=2")
	if _, err := w.harvest(); err != nil {
		t.Fatal(err)
	}
	levels := map[slog.Level]int{}
	for _, line := range append(log.of("executor", "run finished"), log.of("executor", worklog.GivenUp)...) {
		levels[line.level]++
		if line.level > slog.LevelInfo && (line.fields["code"] == "" || !strings.Contains(line.fields["error"].(string), "HTTP 500")) {
			t.Errorf("%v", line.fields)
		}
	}
	if levels[slog.LevelInfo] != 2 || levels[slog.LevelWarn] != 1 || levels[slog.LevelError] != 1 {
		t.Errorf("%v", levels)
	}
	rejected := log.of("executor", "items were rejected")
	if len(rejected) != 1 {
		t.Fatalf("%v", rejected)
	}
	if line := rejected[0]; line.level != slog.LevelWarn || line.fields["code"] != "MISSING_ID" || line.fields["at"] == "" || line.fields["sample"] == "" || line.fields["batch"] == int64(0) {
		t.Errorf("%v", line.fields)
	}
	if len(log.of("executor", "no page")) < 2 {
		t.Error("pages that did not come are not told")
	}
}

func holdsKeys(t *testing.T, line told, keys []string) {
	t.Helper()
	for _, key := range keys {
		if value, ok := line.fields[key]; !ok || value == "" {
			t.Errorf("%s of %s has no %s: %v", line.text, line.room, key, slices.Sorted(maps.Keys(line.fields)))
		}
	}
	if key, twice := line.fields["twice"]; twice {
		t.Errorf("%s of %s says %s twice", line.text, line.room, key)
	}
}
