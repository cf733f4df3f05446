package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

// serves lets a process serve until it said something, and gives its log.
func (d *desk) serves(until string, args ...string) string {
	d.Helper()
	ctx, stop := context.WithCancel(d.Context())
	defer stop()
	log, ended := newListener(), make(chan struct{})
	go func() {
		defer close(ended)
		Main(ctx, append([]string{"serve", "--db", "sqlite:" + d.file}, args...), io.Discard, log)
	}()
	if !log.wait(until, 1, ended) {
		d.Fatalf("ended too early\n%s", log.all())
	}
	stop()
	<-ended
	text, _, _ := strings.Cut(log.all(), "patra: interrupted") // that is said to a person
	return text
}

// logLines reads a log of JSON lines.
func (d *desk) logLines(text string) (out []map[string]any) {
	d.Helper()
	for line := range strings.Lines(text) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			d.Fatalf("%q: %v", line, err)
		}
		if at, _ := fields["time"].(string); !strings.HasSuffix(at, "Z") || fields["level"] == nil || fields["msg"] == nil {
			d.Errorf("%s", line)
		}
		out = append(out, fields)
	}
	return out
}

// A process that serves without a terminal writes JSON lines, unless patra.yaml or a
// flag asks for something else; the flag wins.
func TestServeLog(t *testing.T) {
	d := newDesk(t)
	d.empty()
	const idle = "no source that was applied has an enabled schedule"
	if lines := d.logLines(d.serves(idle, "--roles", "planner")); len(lines) < 3 || lines[0]["msg"] == nil {
		t.Errorf("%v", lines)
	}
	d.holds(d.serves(idle, "--roles", "planner", "--log-format", "text"), "level=INFO msg=serving", "level=WARN")
	d.installs("log: {format: text, level: warn}\n")
	if text := d.serves(idle, "--roles", "planner"); strings.Contains(text, "INFO") || !strings.Contains(text, "level=WARN") {
		t.Error(text)
	}
	if lines := d.logLines(d.serves(idle, "--roles", "planner", "--log-level", "debug", "--log-format", "json")); len(lines) < 3 {
		t.Errorf("%v", lines)
	}
	d.installs("log: {file: " + filepath.Join(d.dir, "none", "patra.log") + "}\n")
	d.holds(d.expect(term.ExitUsage, "serve").err, "log.file of ", "no such file or directory")
}

// Other commands log as they are asked to. A file gets what is worth keeping, and the
// screen stays as it is.
func TestHarvestLogFile(t *testing.T) {
	d := newDesk(t)
	file, _ := d.simulated("")
	d.rows(file)
	path := filepath.Join(d.dir, "harvest.log")
	harvest := func(args ...string) (result, string) {
		r := d.expect(term.ExitOK, append([]string{"harvest", "crossref", "--log-file", path}, args...)...)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return r, string(text)
	}
	r, text := harvest("--from", "2025-03-01", "--to", "2025-03-03", "--log-format", "json")
	if lines := d.logLines(text); len(lines) == 0 || !strings.Contains(text, `"msg":"run finished"`) || strings.Contains(r.err, "run finished") {
		t.Errorf("%s\n%s", text, r.err)
	}
	if is, err := os.Stat(path); err != nil || is.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", is, err)
	}
	if _, longer := harvest("--to", "2025-03-04", "--log-level", "debug"); !strings.HasPrefix(longer, text) || !strings.Contains(longer[len(text):], `msg="run finished"`) {
		t.Errorf("%s", longer)
	}
}

func TestLogFlagsAreChecked(t *testing.T) {
	d := emptyDesk(t)
	for text, args := range map[string][]string{
		`--log-format: unknown format "xml": use text or json`:                {"--log-format", "xml"},
		`--log-level: unknown level "INFO": use debug, info, warn, error`:     {"--log-level", "INFO"},
		"--log-file: open " + filepath.Join(d.dir, "none", "x") + ": no such": {"--log-file", filepath.Join(d.dir, "none", "x")},
	} {
		d.holds(d.expect(term.ExitUsage, append([]string{"harvest", "crossref"}, args...)...).err, text)
	}
	d.noFile()
}
