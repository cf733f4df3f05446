package cli

import (
	"encoding/json"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/event"
)

// varying is what differs from one run of a page's examples to the next.
var varying = regexp.MustCompile(`20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|20(2[6-9]|[3-9]\d)-\d\d-\d\d \d\d:\d\dZ|[0-9a-f]{12,64}|127\.0\.0\.1:\d+|\d+(\.\d+)?[KM]?B\b`)

// boxes are the code boxes of a page in a language.
func boxes(t *testing.T, path, language string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "\n```") {
		if body, is := strings.CutPrefix(part, language+"\n"); is && i%2 == 1 {
			out = append(out, body)
		}
	}
	return out
}

// shows holds the output of a command to what a page says: line by line, where an
// ellipsis stands for anything, and a line of it alone for any number of lines.
func shows(page, got string) bool {
	tell := func(text string) string { return strings.TrimRight(varying.ReplaceAllString(text, "<varies>"), " \n") }
	pattern := regexp.QuoteMeta(tell(page))
	pattern = strings.ReplaceAll(pattern, "\n…", "(?s:.*)")
	pattern = strings.ReplaceAll(pattern, "…", ".*")
	spaces := regexp.MustCompile(` {2,}`) // columns are as wide as what varies
	fold := func(text string) string { return spaces.ReplaceAllString(text, "  ") }
	return regexp.MustCompile("^(?:" + fold(pattern) + ")").MatchString(fold(tell(got)))
}

// The page's files are valid, its commands work in this order, it shows what they
// print, and its event is one that a receiver gets.
func TestEventsPageIsTrue(t *testing.T) {
	const path = "../../docs/events.md"
	declared := boxes(t, path, "yaml")
	if d, err := event.ReadDeclaration([]byte(declared[0])); err != nil || len(d.Destinations) != 3 {
		t.Fatalf("%+v, %v", d, err)
	}
	all, commands, shown := examples(t, path), boxes(t, path, "sh"), boxes(t, path, "json")
	if len(all) < 2 || len(commands) < 3 || len(shown) != 1 {
		t.Fatalf("%d examples, %d boxes of commands, %d events", len(all), len(commands), len(shown))
	}
	d := harvested(t)
	t.Chdir(d.dir)
	h := &hook{}
	server := httptest.NewServer(h)
	defer server.Close()
	t.Setenv("HOOK_SECRET", "canary-4711-secret-of-24-bytes")
	d.write("events.yaml", "destinations:\n  - name: files\n    jsonl: {dir: "+filepath.Join(d.dir, "events")+"}\n  - name: hook\n    webhook: {url: "+server.URL+", secret: 'env:HOOK_SECRET', allowPrivate: true}\nroutes:\n  - to: files\n")
	d.expect(term.ExitOK, "events", "trust", "--events", filepath.Join(d.dir, "events.yaml"), "--yes")

	var page, real map[string]json.RawMessage
	if err := json.Unmarshal([]byte(shown[0]), &page); err != nil {
		t.Fatal(err)
	}
	d.decode(d.expect(term.ExitOK, "events", "tail", "-n", "1", "-o", "json").out, &real)
	if is, want := slices.Sorted(maps.Keys(page)), slices.Sorted(maps.Keys(real)); !slices.Equal(is, want) {
		t.Errorf("the event of the page has %v, a real one %v", is, want)
	}
	for _, e := range all {
		if got := d.expect(term.ExitOK, append(e.args, "-q")...).out; !shows(e.out, got) {
			t.Errorf("patra %s prints\n%s\nthe page says\n%s", strings.Join(e.args, " "), got, e.out)
		}
	}
	n := 0
	for line := range strings.Lines(strings.Join(commands, "\n")) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "patra ") || strings.HasPrefix(line, "patra serve") {
			continue // what runs until it is stopped has tests of its own
		}
		if strings.HasPrefix(line, "patra outbox list") {
			d.exec("UPDATE ing_outbox_message SET status_code = 'DEAD', retry_count = 5 WHERE id = 17")
		}
		var args []string
		for _, word := range argument.FindAllString(strings.TrimPrefix(line, "patra "), -1) {
			args = append(args, strings.Trim(word, `"`))
		}
		d.expect(term.ExitOK, slices.DeleteFunc(args, func(arg string) bool { return arg == "--follow" })...)
		n++
	}
	if n < 10 || h.tests != 1 {
		t.Errorf("%d commands were run, %d test events came", n, h.tests)
	}
}
