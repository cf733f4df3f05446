package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/work"
	"github.com/patra-ingest/patra/internal/core/slicing"
)

// letters is an upstream of letters that are found by day and asked for by id.
type letters struct {
	mu    sync.Mutex
	all   []letter
	asked []string // ids of detail requests, in order
}

type letter struct {
	ID      string `json:"id"`
	Updated string `json:"updated"`
	Title   string `json:"title"`
	Venue   string `json:"venue"`
}

func (l *letters) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.URL.Path == "/search" {
		ids := []string{}
		for _, one := range l.all {
			if day := one.Updated[:10]; r.FormValue("from") <= day && day <= r.FormValue("until") {
				ids = append(ids, one.ID)
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"ids": ids, "count": len(ids)})
		return
	}
	found := []letter{}
	for _, id := range strings.Split(r.FormValue("ids"), ",") {
		l.asked = append(l.asked, id)
		if i := slices.IndexFunc(l.all, func(one letter) bool { return one.ID == id }); i >= 0 {
			found = append(found, l.all[i])
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"records": found})
}

func (l *letters) change(do func([]letter) []letter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all, l.asked = do(l.all), nil
}

func (l *letters) requests() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.asked)
}

const lettersFile = `source: lib
name: A small library
http: {baseUrl: "%s", allowHttp: true, allowPrivate: true}
rate: {perSecond: 5000, concurrency: 2}
endpoints:
  letters:
    role: SEARCH
    request: {path: /search, query: {from: "${filter.from}", until: "${filter.to}", at: "${page.offset}", size: "${page.size}"}}
    filter: {field: updated, precision: DAY, from: INCLUSIVE, to: INCLUSIVE}
    paging: {type: OFFSET, size: 1000, stable: true, expectTotal: true}
    response: {items: $.ids, id: $, total: $.count}
    details: {endpoint: letter, batchSize: 20}
  letter:
    role: DETAIL
    request: {path: /letter, query: {ids: "${join(ids, ',')}"}}
    response: {items: $.records, id: $.id, updatedAt: $.updated, fields: {title: $.title%s}}
`

// library is a desk with 60 letters on it, and their upstream.
func library(t *testing.T) (*desk, *letters, func(fields string)) {
	t.Helper()
	up := &letters{}
	for i := range 60 {
		up.all = append(up.all, letter{fmt.Sprintf("r%03d", i), fmt.Sprintf("2025-03-%02dT10:00:00Z", 1+i%5), fmt.Sprint("Letter ", i), "Annals"})
	}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	d := newDesk(t)
	d.empty()
	apply := func(fields string) {
		d.expect(0, "source", "apply", d.write("lib.yaml", fmt.Sprintf(lettersFile, server.URL, fields)), "--reason", "test")
	}
	apply("")
	d.expect(0, "harvest", "lib", "--from", "2025-03-01", "--to", "2025-03-06", "--workers", "1") // one after the other, so that numbers are the same in every run
	up.change(func(all []letter) []letter { return all })
	return d, up, apply
}

// summaryOf reads the JSON of an update.
func summaryOf(t *testing.T, r result) (s work.Summary) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.out), &s); err != nil {
		t.Fatalf("%v: %s%s", err, r.out, r.err)
	}
	return s
}

func TestUpdateByMapping(t *testing.T) {
	d, up, apply := library(t)
	if r := d.expect(0, "update", "lib", "--expr-changed"); !strings.Contains(r.out, "nothing to do") {
		t.Error(r.out)
	}
	apply(", venue: $.venue")
	preview := d.expect(0, "update", "lib", "--expr-changed", "--dry-run", "-v")
	if !strings.Contains(preview.out, "batch numbers in [") || !strings.Contains(preview.out, "mapped anew from kept answers") {
		t.Error(preview.out)
	}
	s := summaryOf(t, d.expect(0, "update", "lib", "--expr-changed", "-o", "json"))
	if s.Stats.Refresh.Remapped != 60 || s.Stats.Updated != 60 || s.Stats.Requests != 0 || up.requests() != 0 {
		t.Errorf("%+v, %d requests", s.Stats, up.requests())
	}
	if r := d.expect(0, "update", "lib", "--expr-changed"); !strings.Contains(r.out, "nothing to do: no record of lib/letters is stored under another expression or mapping") {
		t.Error(r.out)
	}
}

func TestUpdateByIDs(t *testing.T) {
	d, up, _ := library(t)
	up.change(func(all []letter) []letter {
		return slices.DeleteFunc(all, func(l letter) bool { return l.ID == "r003" })
	})
	ids := d.write("ids.txt", "# two of them\nr003\n\n r004 \nr003\n")
	before := d.expect(0, "cursor", "list", "-o", "json").out
	if r := d.expect(0, "update", "lib", "--ids", ids, "--dry-run"); !strings.Contains(r.out, "2 named") || up.requests() != 0 {
		t.Error(r.out)
	}
	if after := d.expect(0, "cursor", "list", "-o", "json").out; after != before {
		t.Errorf("a rehearsal left %s", after)
	}
	d.expect(2, "update", "lib", "--ids", ids)
	s := summaryOf(t, d.expect(0, "update", "lib", "--ids", ids, "--reason", "notice", "-o", "json"))
	if s.Stats.Gone != 0 || s.Stats.Missed.Missing != 1 || s.Stats.Refresh.Checked < 2 {
		t.Errorf("%+v", s.Stats)
	}
	if r := d.expect(0, "signal", "list", "--source", "lib"); strings.Count(r.out, "DONE") != 1 || !strings.Contains(r.out, "REQUESTED") {
		t.Error(r.out)
	}
}

func TestSignals(t *testing.T) {
	d, up, _ := library(t)
	if r := d.expect(0, "signal", "add", "lib", "r001", "r002", "r001", "--kind", "retraction", "--reason", "notice", "--dry-run", "-o", "json"); !strings.Contains(r.out, `"added": 2`) {
		t.Error(r.out)
	}
	if r := d.expect(0, "signal", "list"); strings.Contains(r.out, "r001") {
		t.Error(r.out)
	}
	d.expect(0, "signal", "add", "lib", "r001", "r002", "--kind", "RETRACTION", "--reason", "notice")
	if r := d.expect(0, "signal", "add", "lib", "r002", "--kind", "RETRACTION", "--reason", "again"); !strings.Contains(r.out, "known  1") {
		t.Error(r.out)
	}
	d.expect(0, "update", "lib", "--signals")
	if n := up.requests(); n != 2 {
		t.Errorf("%d ids were asked for", n)
	}
	if r := d.expect(0, "update", "lib", "--signals"); !strings.Contains(r.out, "nothing to do") {
		t.Error(r.out)
	}
	if r := d.expect(0, "signal", "list", "--status", "DONE"); strings.Count(r.out, "RETRACTION") != 2 {
		t.Error(r.out)
	}
	for _, args := range [][]string{
		{"signal", "add", "lib", "--kind", "MERGE", "--reason", "x"},
		{"signal", "add", "lib", "r001", "--kind", "NONSENSE", "--reason", "x"},
		{"signal", "add", "lib", "r001", "--kind", "MERGE"},
		{"signal", "add", "lib", "r001", "--ids", "-", "--kind", "MERGE", "--reason", "x"},
		{"signal", "add", "lib", "--ids", "no-such-file", "--kind", "MERGE", "--reason", "x"},
		{"signal", "list", "--status", "NONSENSE"},
	} {
		d.expect(2, args...)
	}
	d.expect(5, "signal", "add", "nope", "r001", "--kind", "MERGE", "--reason", "x")
}

// A source that cannot be asked for ids takes no signals: no update would ever
// follow them.
func TestSignalsOfASourceThatCannotFollowThem(t *testing.T) {
	d := harvested(t)
	r := d.expect(2, "signal", "add", "jstage", "10.5555/x", "--kind", "RETRACTION", "--reason", "notice")
	d.holds(r.err, "jstage/articles has no endpoint that is asked by id (details.endpoint)", "patra update jstage --from")
	if r := d.expect(0, "signal", "list"); strings.Contains(r.out, "10.5555/x") {
		t.Error(r.out)
	}
}

// A run of an update shows which ids it read, and no window that it has not.
func TestRunShowTellsTheRangeOfIDs(t *testing.T) {
	d, _, _ := library(t)
	d.expect(0, "signal", "add", "lib", "r001", "r002", "--kind", "RETRACTION", "--reason", "notice")
	d.expect(0, "update", "lib", "--signals")
	var runs []struct{ ID int64 }
	d.decode(d.expect(0, "run", "list", "--limit", "1", "-o", "json").out, &runs)
	show := []string{"run", "show", fmt.Sprint(runs[0].ID)}
	r := d.expect(0, show...)
	d.holds(r.out, "signals [1, 3), chosen at 20")
	if strings.Contains(r.out, "0001-01-01") || strings.Contains(r.out, "1970-01-01") {
		t.Error(r.out)
	}
	var detail struct{ Range *slicing.Range }
	d.decode(d.expect(0, append(show, "-o", "json")...).out, &detail)
	if g := detail.Range; g == nil || g.Key != "signal_id" || g.From != "1" || g.To != "3" {
		t.Errorf("%+v", g)
	}
	d.expect(0, "update", "lib", "--stale", "1d")
	d.decode(d.expect(0, "run", "list", "--limit", "1", "-o", "json").out, &runs)
	d.holds(d.expect(0, "run", "show", fmt.Sprint(runs[0].ID)).out, "ids whose hash is in [")
}

// A mass disappearance is loud: the exit code, the reason and the next step.
func TestUpdateStopsAtAMassDisappearance(t *testing.T) {
	d, up, _ := library(t)
	up.change(func(all []letter) []letter { return all[:10] })
	var ids []string
	for i := range 60 {
		ids = append(ids, fmt.Sprintf("r%03d", i))
	}
	r := d.expect(6, "update", "lib", "--ids", d.write("ids.txt", strings.Join(ids, "\n")), "--reason", "check")
	for _, want := range []string{"MASS_GONE", "50 of 60 stored records are missing upstream", "--set details.maxGone=1", "patra source resume lib/letters --op UPDATE"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("%q is not in %s", want, r.err)
		}
	}
	d.expect(6, "update", "lib", "--stale", "30d")
	d.expect(0, "harvest", "lib", "--to", "2025-03-07")
	d.expect(0, "source", "resume", "lib/letters", "--op", "UPDATE", "--reason", "they are gone")
	s := summaryOf(t, d.expect(0, "update", "lib", "--signals", "--set", "details.maxGone=1", "-o", "json"))
	if s.Stats.Gone != 0 || s.Stats.Missed.Missing != 50 {
		t.Errorf("%+v", s.Stats)
	}
}

func TestUpdateRefusals(t *testing.T) {
	d, _, _ := library(t)
	for want, args := range map[string][]string{
		"say what to re-check":              {"update", "lib"},
		"say what to re-check, with one":    {"update", "lib", "--signals", "--stale", "30d"},
		"--ask goes with --expr-changed":    {"update", "lib", "--signals", "--ask"},
		"--reason goes with":                {"update", "lib", "--signals", "--reason", "x"},
		"--stale":                           {"update", "lib", "--stale", "nonsense"},
		"between an hour and ten years":     {"update", "lib", "--stale", "1m"},
		"patra update jstage --from":        {"update", "jstage", "--stale", "30d"},
		"patra update jstage --from … --to": {"update", "jstage", "--signals"},
	} {
		if r := d.expect(2, args...); !strings.Contains(r.err, want) {
			t.Errorf("%v: %s", args, r.err)
		}
	}
	d.expect(5, "update", "nope", "--signals")
	empty := emptyDesk(t)
	empty.expect(5, "update", "crossref", "--from", "2025-03-01", "--to", "2025-03-02")
	empty.noFile()
}

// A stretch of time is read again, as often as it is asked for.
func TestUpdateByTime(t *testing.T) {
	d, up, _ := library(t)
	for range 2 {
		up.change(func(all []letter) []letter { return all })
		s := summaryOf(t, d.expect(0, "update", "lib", "--from", "2025-03-02", "--to", "2025-03-04", "-o", "json"))
		if s.Stats.Unchanged != 24 || s.Stats.Refresh.Checked != 24 || up.requests() != 24 {
			t.Errorf("%+v, %d ids were asked for", s.Stats, up.requests())
		}
	}
}
