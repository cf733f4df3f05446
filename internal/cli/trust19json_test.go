package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
)

// listCommands are all commands that print a list.
func listCommands(file string) [][]string {
	return [][]string{
		{"task", "list"}, {"run", "list"}, {"batch", "list"}, {"slice", "list"}, {"plan", "list"}, {"cursor", "list"}, {"cursor", "history", "1"}, {"cursor", "verify"},
		{"coverage", "show"}, {"coverage", "gaps", "crossref"}, {"quarantine", "groups"}, {"quarantine", "list"}, {"rate", "list"}, {"events", "deliveries"}, {"outbox", "list"},
		{"data", "list", "crossref"}, {"audit", "list"}, {"signal", "list"}, {"source", "list"}, {"source", "history", "crossref"}, {"source", "diff", file},
		{"source", "validate", file}, {"backfill", "list"}, {"db", "archive", "list"}, {"db", "migrate"}, {"source", "apply", file},
	}
}

func TestTrust19ListsAreItemsMoreNext(t *testing.T) {
	d := harvested(t)
	file := d.write("crossref.yaml", d.expect(term.ExitOK, "source", "export", "crossref").out)
	for _, args := range listCommands(file) {
		r := d.run(append(args, "-o", "json")...)
		var got map[string]json.RawMessage
		if err := json.Unmarshal([]byte(r.out), &got); err != nil {
			t.Errorf("patra %s: %v in\n%s%s", strings.Join(args, " "), err, r.out, r.err)
			continue
		}
		if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"items", "more", "next"}) || got["items"][0] != '[' {
			t.Errorf("patra %s prints %v", strings.Join(args, " "), names)
		}
	}
}

// Going on with next, one item at a time, is the whole list.
func TestTrust19NextLeadsThroughAList(t *testing.T) {
	d := harvested(t)
	for _, c := range []struct {
		flag string
		args []string
	}{
		{"--before", []string{"task", "list"}}, {"--before", []string{"batch", "list"}}, {"--before", []string{"outbox", "list"}},
		{"--after", []string{"cursor", "history", "1"}}, {"--after", []string{"data", "list", "crossref"}},
	} {
		var whole, walked []json.RawMessage
		d.decode(d.expect(term.ExitOK, append(c.args, "-o", "json")...).out, &whole)
		for args := c.args; ; {
			var page view.List[json.RawMessage]
			d.decode(d.expect(term.ExitOK, append(args, "--limit", "1", "-o", "json")...).out, &page)
			walked = append(walked, page.Items...)
			if !page.More {
				if page.Next != nil {
					t.Errorf("%v: a last page with next %s", c.args, *page.Next)
				}
				break
			}
			args = append(slices.Clone(c.args), c.flag, *page.Next)
		}
		if compacted(t, walked) != compacted(t, whole) || len(whole) < 2 {
			t.Errorf("%v: walked %d items of %d", c.args, len(walked), len(whole))
		}
	}
}

func compacted(t *testing.T, items []json.RawMessage) string {
	t.Helper()
	text, err := json.Marshal(items) // it writes raw values without blanks
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTrust19ErrorsAreJSON(t *testing.T) {
	d := harvested(t)
	bad := d.write("bad.yaml", "source: bad\nnme: Bad\n")
	for _, c := range []struct {
		args []string
		code int
		kind string
		says string
	}{
		{[]string{"task", "show", "4711", "-o", "json"}, term.ExitNotFound, "NOT_FOUND", "4711"},
		{[]string{"tsk", "-o", "json"}, term.ExitUsage, "USAGE", "tsk"},
		{[]string{"task", "list", "--nonsense", "--output=json"}, term.ExitUsage, "USAGE", "nonsense"},
		{[]string{"task", "show", "-ojson"}, term.ExitUsage, "USAGE", "accepts 1 arg"},
		{[]string{"coverage", "gaps", "crossref", "-o", "json"}, term.ExitFindings, "FINDINGS", "gap"},
		{[]string{"source", "validate", bad, "-o", "json"}, term.ExitUsage, "USAGE", "problem"},
		{[]string{"harvest", "nowhere", "-o", "json"}, term.ExitNotFound, "NOT_FOUND", "nowhere"},
	} {
		r := d.expect(c.code, c.args...)
		lines := strings.Split(strings.TrimSpace(r.err), "\n")
		var got struct{ Error failed }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &got); err != nil {
			t.Errorf("%v: the last line of stderr: %v\n%s", c.args, err, r.err)
			continue
		}
		if got.Error.ExitCode != c.code || got.Error.Kind != c.kind || !strings.Contains(got.Error.Message, c.says) {
			t.Errorf("%v: %+v", c.args, got.Error)
		}
		if strings.Contains(r.err, "patra: ") {
			t.Errorf("%v: the error is told twice: %s", c.args, r.err)
		}
	}
	var got struct{ Error failed }
	r := d.expect(term.ExitUsage, "source", "validate", bad, "-o", "json", "-q")
	d.decode(r.err, &got)
	if p := got.Error.Problems; len(p) == 0 || p[0].File != bad || p[0].Line == 0 || p[0].Code == "" {
		t.Errorf("problems %+v", p)
	}
	if text := d.expect(term.ExitNotFound, "task", "show", "4711").err; !strings.HasPrefix(text, "patra: ") {
		t.Errorf("for people: %s", text)
	}
}

func TestTrust19FaultsKeepTheirCodeInJSON(t *testing.T) {
	var out bytes.Buffer
	err := fmt.Errorf("asked: %w", fault.New(fault.Network, errors.New("said \x1b[31mred\u202e")))
	if code := reportError(context.Background(), nil, err, &out, true); code != term.ExitUpstream {
		t.Errorf("exit code %d", code)
	}
	if text := out.String(); !strings.Contains(text, `"code":"NETWORK"`) || strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, `\u001b`) {
		t.Errorf("%q", text)
	}
}

// Names of members that say a length of time otherwise than in seconds, or a record
// otherwise than by recordId.
func unsteady(name string) bool {
	for _, end := range []string{"Ms", "Sec", "Nanos", "Millis"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return slices.Contains([]string{"providerId", "fetchAt", "secondsLeft", "firstSeen", "lastSeen", "retryAfter", "endedAt"}, name)
}

// asStored are members that hold a document as it is kept, or as a file says it.
var asStored = []string{"spec", "sliceParams", "hints", "row", "segments"}

func unsteadyNames(value any, at string) (out []string) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if unsteady(name) {
				out = append(out, at+"."+name)
			}
			if !slices.Contains(asStored, name) {
				out = append(out, unsteadyNames(inner, at+"."+name)...)
			}
		}
	case []any:
		for _, inner := range v {
			out = append(out, unsteadyNames(inner, at)...)
		}
	}
	return out
}

func TestTrust19NamesAreSteady(t *testing.T) {
	d := harvested(t)
	file := d.write("crossref.yaml", d.expect(term.ExitOK, "source", "export", "crossref").out)
	commands := append(listCommands(file), []string{"task", "show", "1"}, []string{"run", "show", "1"}, []string{"batch", "show", "1"}, []string{"slice", "show", "1"},
		[]string{"plan", "show", "1"}, []string{"cursor", "show", "1"}, []string{"status"}, []string{"rate", "show", "crossref"}, []string{"data", "count", "crossref"},
		[]string{"run", "diff", "1", "2"}, []string{"source", "show", "crossref"}, []string{"db", "check"}, []string{"plan", "crossref", "--offline", "--dry-run"})
	for _, args := range commands {
		r := d.run(append(args, "-o", "json", "-q")...)
		var got any
		if err := json.Unmarshal([]byte(r.out), &got); err != nil {
			t.Errorf("patra %s: %v\n%s%s", strings.Join(args, " "), err, r.out, r.err)
			continue
		}
		if names := unsteadyNames(got, ""); len(names) > 0 {
			t.Errorf("patra %s: %v", strings.Join(args, " "), names)
		}
	}
	batch := d.expect(term.ExitOK, "batch", "show", "1", "-o", "json").out
	d.holds(batch, `"tookSeconds"`)
	d.holds(d.expect(term.ExitOK, "run", "show", "1", "-o", "json").out, `"waitSeconds"`)
	d.holds(d.expect(term.ExitFindings, "status", "-o", "json").out, `"lagSeconds"`)
	d.holds(d.expect(term.ExitOK, "cursor", "list", "-o", "json").out, `"lookbackSeconds"`, `"seenAheadSeconds"`)
	d.exec(`UPDATE ing_batch_evidence SET response = '{"status":200,"bytes":5,"tookMs":1500}' WHERE batch_id = 1`)
	d.holds(d.expect(term.ExitOK, "batch", "show", "1", "-o", "json").out, `"tookSeconds": 1.5`) // of rows that were written before
}
