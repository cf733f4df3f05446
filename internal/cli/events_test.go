package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/event"
	"github.com/patra-ingest/patra/internal/core/view"
)

// files declares a folder of the desk as the destination of everything.
func (d *desk) files() (declaration, dir string) {
	d.Helper()
	dir = filepath.Join(d.dir, "out")
	return d.write("events.yaml", "destinations:\n  - name: files\n    jsonl: {dir: "+dir+"}\nroutes:\n  - to: files\n"), dir
}

// lines are all events in a folder.
func (d *desk) lines(dir string) (out []string) {
	d.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		d.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			d.Fatal(err)
		}
		out = append(out, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	return out
}

func TestEventsArePublishedAndReplayed(t *testing.T) {
	d := harvested(t)
	declaration, dir := d.files()
	list := d.expect(term.ExitOK, "outbox", "list", "--limit", "3")
	d.golden("outbox_list", list.out)
	d.fits(list.out)
	d.holds(list.err, "--before")
	d.holds(d.expect(term.ExitOK, "events", "publish", "--events", declaration).out, "36", "true")
	first := d.lines(dir)
	if len(first) != 36 {
		t.Fatalf("%d events", len(first))
	}
	var all []view.Outgoing
	d.decode(d.expect(term.ExitOK, "outbox", "list", "--status", "published", "-o", "json").out, &all)
	if len(all) != 36 || all[0].PublishedAt.IsZero() {
		t.Errorf("%d are published", len(all))
	}
	d.fits(d.expect(term.ExitOK, "events", "deliveries").out)
	var log []view.Delivery
	d.decode(d.expect(term.ExitOK, "events", "deliveries", "-o", "json").out, &log)
	if len(log) != 1 || log[0].Delivered != 36 || log[0].Destination != "files" {
		t.Errorf("%+v", log)
	}
	d.expect(term.ExitUsage, "events", "replay", "--from", "3")
	d.expect(term.ExitUsage, "events", "replay", "--reason", "x")
	d.expect(term.ExitNotFound, "events", "replay", "--from", "3", "--reason", "x", "--source", "crossreff")
	d.holds(d.expect(term.ExitOK, "events", "replay", "--from", "2000-01-01", "--reason", "x", "--dry-run").out, "36 events")
	d.holds(d.expect(term.ExitOK, "events", "replay", "--from", "00000000000000000003", "--reason", "lost a disk").out, "34 events")
	d.expect(term.ExitOK, "events", "publish", "--events", declaration)
	seen := map[string]int{}
	for _, line := range d.lines(dir) {
		seen[line]++
	}
	if len(seen) != 36 || seen[first[0]] != 1 || seen[first[35]] != 2 {
		t.Errorf("%d different lines: the same events have the same bytes", len(seen))
	}
}

func TestEventsTail(t *testing.T) {
	d := harvested(t)
	out := d.expect(term.ExitOK, "events", "tail", "-n", "2", "--source", "crossref", "-o", "json").out
	n := 0
	for line := range strings.Lines(out) {
		var e struct{ ID, Type, Sequence string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Type != event.TypeOf(event.Inserted) || len(e.Sequence) != 20 {
			t.Errorf("%s: %v", line, err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d events", n)
	}
	if got := strings.Count(d.expect(term.ExitOK, "events", "tail").out, "\n"); got != 10 {
		t.Errorf("%d lines", got)
	}
	d.expect(term.ExitNotFound, "events", "tail", "--source", "crossreff")
	d.expect(term.ExitUsage, "events", "tail", "-n", "-1")
}

// hook is a receiver that refuses one event.
type hook struct {
	mu     sync.Mutex
	refuse []byte
	got    int
	tests  int
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case r.Header.Get("Webhook-Signature") == "":
		w.WriteHeader(http.StatusUnauthorized)
	case bytes.Contains(body, []byte("io.github.patra-ingest.test")):
		h.tests++
	case h.refuse != nil && bytes.Contains(body, h.refuse):
		w.WriteHeader(http.StatusUnprocessableEntity)
	default:
		h.got++
	}
}

func TestFailedEventsAreSeenTo(t *testing.T) {
	d := harvested(t)
	var one struct {
		view.Outgoing
		Envelope json.RawMessage
	}
	d.decode(d.expect(term.ExitOK, "outbox", "show", "5", "-o", "json").out, &one)
	if one.ID != 5 || !bytes.Contains(one.Envelope, []byte(one.Event)) {
		t.Fatalf("%+v", one)
	}
	h := &hook{refuse: []byte(one.Event)}
	server := httptest.NewServer(h)
	defer server.Close()
	t.Setenv("HOOK_SECRET", "canary-4711-secret-of-24-bytes")
	declaration := d.write("events.yaml", "destinations:\n  - name: hook\n    webhook: {url: "+server.URL+", secret: 'env:HOOK_SECRET', allowPrivate: true}\nroutes:\n  - to: hook\n")
	d.expect(term.ExitOK, "events", "trust", "--events", declaration, "--yes")
	d.holds(d.expect(term.ExitOK, "events", "test", "hook", "--events", declaration).out, "hook", "test-")
	d.expect(term.ExitNotFound, "events", "test", "hok", "--events", declaration)
	r := d.expect(term.ExitPartial, "events", "publish", "--events", declaration)
	d.holds(r.out, "35", "false")
	d.holds(r.err, "patra events deliveries")
	d.holds(d.expect(term.ExitOK, "outbox", "show", "5").out, "FAILED", "REFUSED", "status 422")
	d.expect(term.ExitUsage, "outbox", "retry")
	d.expect(term.ExitUsage, "outbox", "retry", "5", "--source", "crossref")
	d.expect(term.ExitNotFound, "outbox", "retry", "5", "4711")
	d.holds(d.expect(term.ExitOK, "outbox", "retry", "5", "--dry-run").out, "1 event")
	d.expect(term.ExitUsage, "outbox", "discard", "5")
	h.refuse = nil
	d.holds(d.expect(term.ExitOK, "outbox", "retry", "5", "6", "--reason", "fixed").out, "1 event")
	d.expect(term.ExitOK, "events", "publish", "--events", declaration)
	d.holds(d.expect(term.ExitOK, "outbox", "show", "5").out, "PUBLISHED")
	if h.got != 36 || h.tests != 1 {
		t.Errorf("%d events and %d tests arrived", h.got, h.tests)
	}
	if text := d.expect(term.ExitOK, "outbox", "retry", "--source", "crossref").out; !strings.Contains(text, "0 events") {
		t.Error(text)
	}
}

func TestEventsFilesAreChecked(t *testing.T) {
	d := harvested(t)
	t.Setenv("PATRA_EVENTS", "")
	d.expect(term.ExitUsage, "events", "publish")
	d.expect(term.ExitUsage, "events", "publish", "--events", filepath.Join(d.dir, "none.yaml"))
	r := d.run("events", "publish", "--events", d.write("bad.yaml", "destinations: []"))
	if r.code == term.ExitOK {
		t.Fatal("published to nobody")
	}
	d.holds(r.err, "bad.yaml", "none is declared")
	declaration, _ := d.files()
	t.Setenv("PATRA_EVENTS", declaration)
	d.expect(term.ExitOK, "events", "publish")
}

func TestAHarvestPublishesIfItIsTold(t *testing.T) {
	d := emptyDesk(t)
	server, err := startUpstream("")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	declaration, dir := d.files()
	args := []string{"harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-03", "--now", "2025-03-07"}
	for _, s := range append(settings(server.URL()), "contact.email=a@example.org") {
		args = append(args, "--set", s)
	}
	d.expect(term.ExitUsage, append(args, "--events", "none.yaml")...)
	d.noFile()
	r := d.expect(term.ExitOK, append(args, "--events", declaration)...)
	d.holds(r.err, "24 events published")
	if n := len(d.lines(dir)); n != 24 {
		t.Errorf("%d events", n)
	}
}

// Whoever harvests from a timer sees the exit code: records that nobody was told of
// must not look like a success.
func TestAHarvestSaysWhichEventsStayed(t *testing.T) {
	d := newDesk(t)
	upstream, err := startUpstream("")
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	away := httptest.NewServer(&hook{})
	away.Close()
	t.Setenv("HOOK_SECRET", "canary-4711-secret-of-24-bytes")
	declaration := d.write("events.yaml", "destinations:\n  - name: hook\n    webhook: {url: "+away.URL+", secret: 'env:HOOK_SECRET', allowPrivate: true}\nroutes:\n  - to: hook\n")
	d.expect(term.ExitOK, "events", "trust", "--events", declaration, "--yes")
	args := []string{"harvest", "crossref", "--from", "2025-03-01", "--to", "2025-03-03", "--now", "2025-03-07", "--events", declaration}
	for _, s := range append(settings(upstream.URL()), "contact.email=a@example.org") {
		args = append(args, "--set", s)
	}
	r := d.expect(term.ExitPartial, args...)
	d.holds(r.out, "24 new")
	d.holds(r.err, "0 events published", "events of crossref/works: 24 events wait", "receiver hook is unreachable", "connection refused",
		"24 events not delivered yet; they stay", "patra events publish --events "+declaration)
	quiet := d.expect(term.ExitPartial, append(args, "--quiet", "--to", "2025-03-04")...)
	d.holds(quiet.err, "36 events not delivered yet", "patra events publish --events "+declaration)
	declaration, dir := d.files()
	d.expect(term.ExitOK, "events", "publish", "--events", declaration)
	if n := len(d.lines(dir)); n != 36 {
		t.Errorf("%d events came later", n)
	}
}

// Events that no route fits reach nobody: a misspelled name must not look like a delivery.
func TestSkippedEventsAreTold(t *testing.T) {
	d := harvested(t)
	dir := filepath.Join(d.dir, "out")
	declaration := d.write("events.yaml", "destinations:\n  - name: files\n    jsonl: {dir: "+dir+"}\nroutes:\n  - {sources: [crosref], to: files}\n")
	r := d.expect(term.ExitOK, "events", "publish", "--events", declaration)
	d.holds(r.err, "crosref", "did you mean crossref?", "36 events skipped", "patra events replay")
	if text := unfolded(r.out); !strings.Contains(text, "skipped 36") || !strings.Contains(text, "all delivered false") {
		t.Error(r.out)
	}
	var told struct{ Published, Skipped int }
	d.expect(term.ExitOK, "events", "replay", "--from", "1", "--reason", "misspelled")
	d.decode(d.expect(term.ExitOK, "events", "publish", "--events", declaration, "-o", "json").out, &told)
	if told.Published != 0 || told.Skipped != 36 {
		t.Errorf("%+v", told)
	}
}

// Who names receivers to a process that does not relay expects events that would never come.
func TestServeTakesNoReceiversWithoutARelay(t *testing.T) {
	d := emptyDesk(t)
	declaration, _ := d.files()
	d.holds(d.expect(term.ExitUsage, "serve", "--events", declaration).err, "relay")
	d.noFile()
}
