package daemon

import (
	"context"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

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
	w := newWalkWith(t, slog.New(log), []upsim.Fault{{Kind: upsim.Fault500, Times: 3}}, nil)
	if _, err := w.harvest(); err != nil {
		t.Fatal(err)
	}
	ofTask := []string{"source", "endpoint", "operation", "trigger", "plan", "slice", "task"}
	ofRun := append(slices.Clone(ofTask), "run", "batch", "correlationId")
	for _, text := range []string{"try failed", "run finished"} {
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
	for _, line := range log.of("dispatch", "") {
		if line.fields["task"] != nil {
			holdsKeys(t, line, ofTask)
		}
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
