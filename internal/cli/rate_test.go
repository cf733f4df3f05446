package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/view"
)

// shelfSource is a source with every limit, for the commands about rates.
const shelfSource = `source: shelf
name: Shelf
http: {baseUrl: "https://shelf.example.org"}
rate: {perSecond: 10, burst: 5, concurrency: 3, quotaPerHour: 1000, budgetPerDay: 20, pricePerRequest: 0.01, group: library, warmup: PT30S}
operations:
  BACKFILL: {rate: {hours: "21:00-05:00 America/New_York", perSecond: 5}}
endpoints:
  books:
    role: SEARCH
    request: {path: /books, query: {from: "${filter.from}", to: "${filter.to}", rows: "${page.size}", cursor: "${page.token}"}}
    filter: {field: updated}
    paging: {type: TOKEN}
    response: {items: $.items, id: $.id, updatedAt: $.updated, nextToken: $.next}
`

// limited is a desk with that source, one process that reported and one breaker
// that is open, as of an instant far in the past and one far in the future.
func limited(t *testing.T) *desk {
	d := newDesk(t)
	d.empty()
	d.expect(term.ExitOK, "source", "apply", d.write("shelf.yaml", shelfSource))
	const future = 4102444800000000 // 2100-01-01
	state, err := json.Marshal(gate.Snapshot{
		Key: "@library", PerSecond: 2.5, Declared: 5, Burst: 5, BurstLeft: 1.25, Concurrency: 3, InFlight: 2, Waiting: 4, Demotions: 1, LoweredBy: gate.Throttled, LoweredAt: march(2),
	})
	if err != nil {
		t.Fatal(err)
	}
	d.exec("INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES ('one', 'executor', 'attic', 7, 1, 1, ?)", future)
	d.exec("INSERT INTO ing_executor (executor_id, roles, host, pid, started_at, heartbeat_at, alive_until) VALUES ('gone', 'executor', 'cellar', 8, 1, 1, 1)")
	d.exec("INSERT INTO ing_rate_member (executor_id, executes, joined_no, seen_no, void_at) VALUES ('one', 1, 1, 1, ?)", future)
	for _, id := range []string{"one", "gone"} {
		d.exec("INSERT INTO ing_rate_report (executor_id, rate_key, snapshot, reported_at) VALUES (?, '@library', ?, ?)", id, string(state), march(2).UnixMicro())
	}
	d.exec("INSERT INTO ing_rate_pause (rate_key, until, updated_at) VALUES ('@library', ?, 1)", future)
	d.exec("INSERT INTO ing_rate_pause (rate_key, until, updated_at) VALUES ('crossref', 1, 1)")
	d.exec(`INSERT INTO ing_breaker (provenance_code, endpoint_name, failures, opened, open_until, last_error_code, updated_at) VALUES
  ('shelf', 'books', 3, 1, ?, 'SERVER_ERROR', ?)`, future, march(2).UnixMicro())
	now := time.Now().UTC()
	d.exec("INSERT INTO ing_quota (rate_key, quota_name, window_start, window_end, taken, updated_at) VALUES ('@library', 'hour', ?, ?, 100, 1)",
		now.Truncate(time.Hour).UnixMicro(), now.Truncate(time.Hour).Add(time.Hour).UnixMicro())
	return d
}

func TestRateList(t *testing.T) {
	d := limited(t)
	r := d.expect(term.ExitOK, "rate", "list")
	d.fits(r.out)
	d.golden("rate_list", "$ patra rate list\n"+r.out)
	d.holds(r.out, "library", "5/s, burst 5, 3 at once", "2.5/s", "hour 800", "COOLING until 2100-01-01T00:00:00Z", "BREAKER of shelf/books:", "open until 2100", "crossref", "open")
	if r.err != "" {
		t.Errorf("hints though a process reported: %s", r.err)
	}
	var keys []view.RateKey
	d.decode(d.expect(term.ExitOK, "rate", "list", "-o", "json").out, &keys)
	for _, k := range keys {
		if k.Key == "@library" && (len(k.Processes) != 1 || k.Living != 1 || k.PerSecond == nil || *k.PerSecond != 2.5 || len(k.Uses) != 2 || k.CoolingUntil.IsZero()) {
			t.Errorf("%+v", k)
		}
		if k.Key == "crossref" && (!k.CoolingUntil.IsZero() || k.PerSecond != nil) {
			t.Errorf("a cool-down that is over counts: %+v", k)
		}
	}
	idle := newDesk(t)
	idle.empty()
	d.holds(idle.expect(term.ExitOK, "rate", "list").err, "no patra process is running")
}

func TestRateShow(t *testing.T) {
	d := limited(t)
	r := d.expect(term.ExitOK, "rate", "show", "library")
	d.fits(r.out)
	d.holds(r.out, "2.5/s: lowered 1 times, last by THROTTLED at 2025-03-02T00:00:00Z", "100 used of 900, 800 left", "1000 declared", "0 used of 20, 20 left",
		"divided by 2, not below 0.1/s", "1 at work, 1 of them have used it", "shelf/books", "HARVEST ", "money of the day", "21:00-05:00 America/New_York", "price 0.01",
		"open until 2100-01-01T00:00:00Z:", "3 failed in a row:", "last SERVER_ERROR", "attic 7", "2 of 3", "its own part", "PT30S")
	if strings.Contains(r.out, "cellar") {
		t.Error("a process that is gone is listed")
	}
	for typo, near := range map[string]string{"libary": "@library", "crosref": "crossref"} {
		d.holds(d.expect(term.ExitNotFound, "rate", "show", typo).err, "did you mean "+near+"?")
	}
	var k view.RateKey
	d.decode(d.expect(term.ExitOK, "rate", "show", "library", "-o", "json").out, &k)
	if k.Limits.PerSecond != 5 || len(k.Quotas) != 2 || k.Quotas[0].Used != 100 || k.Uses[0].Breaker == nil || k.Uses[0].Breaker.State != "OPEN" {
		t.Errorf("%+v", k)
	}
}

// Where lines stay, a key is written again only when something changed.
func TestRateWatch(t *testing.T) {
	d := limited(t)
	r := d.expect(term.ExitOK, "rate", "watch", "--times", "3", "--every", "100ms")
	if n := strings.Count(r.out, " @library: "); n != 1 || strings.Contains(r.out, "\x1b") {
		t.Errorf("%d lines:\n%q", n, r.out)
	}
	d.holds(r.out, "2.5/s of 5/s, burst 5, 3 at once; 2 under way, 4 waiting; quota left hour 800, money 20; COOLING until")
	one := d.expect(term.ExitOK, "rate", "watch", "library", "--times", "1", "-o", "json").out
	var k view.RateKey
	if strings.Count(one, "\n") != 1 || json.Unmarshal([]byte(one), &k) != nil || k.Key != "@library" || k.At.IsZero() {
		t.Errorf("%s", one)
	}
	d.holds(d.expect(term.ExitNotFound, "rate", "watch", "libary", "--times", "1").err, "did you mean @library?")
	d.expect(term.ExitUsage, "rate", "watch", "--every", "1ms")
	d.expect(term.ExitUsage, "rate", "watch", "--times", "-1")
}

// An interruption is how a watch ends.
func TestRateWatchEndsWithoutAnError(t *testing.T) {
	d := limited(t)
	ctx, stop := context.WithCancel(t.Context())
	seen := &firstWrite{then: stop}
	var errs bytes.Buffer
	if code := Main(ctx, []string{"rate", "watch", "--db", "sqlite:" + d.file}, seen, &errs); code != term.ExitOK {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}

type firstWrite struct {
	bytes.Buffer
	then func()
}

func (f *firstWrite) Write(p []byte) (int, error) {
	f.then()
	return f.Buffer.Write(p)
}

// A source nobody knows is a slip, in every list that takes one.
func TestListsOfAnUnknownSource(t *testing.T) {
	d := harvested(t)
	for _, noun := range []string{"plan", "task", "run", "batch", "slice"} {
		d.holds(d.expect(term.ExitNotFound, noun, "list", "--source", "crosref").err, `source "crosref" is not known: did you mean crossref?`)
		d.holds(d.expect(term.ExitNotFound, noun, "list", "--source", "zzz").err, "there are ", "crossref")
		d.expect(term.ExitOK, noun, "list", "--source", "crossref")
		d.expect(term.ExitOK, noun, "list", "--source", "pubmed") // bundled, never harvested: an empty list is the truth
	}
	d.exec("UPDATE ing_dataset SET provenance_code = 'removed'") // no registry knows it any more
	d.expect(term.ExitOK, "task", "list", "--source", "removed")
}

// What a task waits for stands in the list, and in its detail until when.
func TestTasksSayWhatTheyWaitFor(t *testing.T) {
	d := harvested(t)
	future := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	d.exec("UPDATE ing_task SET status_code = 'QUEUED' WHERE id = 3")
	d.exec("INSERT OR REPLACE INTO ing_breaker (provenance_code, endpoint_name, failures, opened, open_until, last_error_code, updated_at) VALUES ('crossref', 'works', 3, 1, ?, 'SERVER_ERROR', 1)", future)
	r := d.expect(term.ExitOK, "task", "list")
	d.fits(r.out)
	d.holds(r.out, "WAITS", "BREAKER")
	d.holds(d.expect(term.ExitOK, "task", "show", "3").out, "BREAKER until 2100-01-01T00:00:00Z: 3 runs in a row failed at this upstream", "one task of crossref/works tests the upstream from 2100-01-01T00:00:00Z on")
	d.holds(d.expect(term.ExitOK, "task", "show", "3", "-o", "json").out, `"reason": "BREAKER"`, `"until": "2100-01-01T00:00:00Z"`)
	d.exec("DELETE FROM ing_breaker")
	d.exec("UPDATE ing_partition SET cooling_until = ?, cooling_code = 'QUOTA'", future)
	d.holds(d.expect(term.ExitOK, "task", "show", "3").out, "QUOTA until 2100-01-01T00:00:00Z: our own quota under rate key crossref is used up", "it is taken from 2100-01-01")
	d.exec("UPDATE ing_partition SET cooling_until = NULL, cooling_code = NULL")
	d.exec("INSERT INTO ing_rate_pause (rate_key, until, updated_at) VALUES ('crossref', ?, 1)", future)
	d.holds(d.expect(term.ExitOK, "task", "show", "3").out, "COOLING until 2100-01-01T00:00:00Z", "asked us to wait")
	d.exec("DELETE FROM ing_rate_pause")
	d.exec("UPDATE ing_task SET status_code = 'SCHEDULED', scheduled_at = ?, wait_code = 'CLOSED_HOURS' WHERE id = 3", future)
	d.holds(d.expect(term.ExitOK, "task", "show", "3").out, "CLOSED_HOURS until 2100-01-01T00:00:00Z")
	d.exec("UPDATE ing_task_run SET stats = '{\"circuitOpen\":1}' WHERE id = 3")
	d.holds(d.expect(term.ExitOK, "run", "show", "3").out, "BREAKER: this failure opened it")
}

// The lines of the page about rates are real commands with real answers.
func TestCommandsOfTheRatePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/rate.md")
	if err != nil {
		t.Fatal(err)
	}
	d := harvested(t)
	ran := 0
	for block := range strings.SplitSeq(string(page), "```sh\n") {
		text, _, closed := strings.Cut(block, "```")
		if !closed || !strings.HasPrefix(text, "patra") {
			continue
		}
		for line := range strings.Lines(text) {
			command, _, _ := strings.Cut(line, "#")
			words := strings.Fields(command)
			if words[1] == "serve" || words[1] == "harvest" {
				continue // they ask upstreams
			}
			if words[2] == "watch" {
				words = append(words, "--times", "1")
			}
			ran++
			if r := d.run(words[1:]...); r.code != term.ExitOK {
				t.Errorf("%s: exit code %d\n%s%s", command, r.code, r.out, r.err)
			}
		}
	}
	if ran < 5 {
		t.Error(fmt.Sprint("only ", ran, " commands were found"))
	}
}
