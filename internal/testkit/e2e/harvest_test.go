package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/upsim"
)

type result struct {
	Empty  bool           `json:"empty"`
	Slices map[string]int `json:"slices"`
	Stats  struct {
		Seen, Inserted, Updated, Unchanged, Quarantined, Requests, Retries, Throttled, Restarts int
	} `json:"stats"`
	Cursor string `json:"cursor"`
}

func (w *world) harvest(wantCode int, more ...string) result {
	w.t.Helper()
	code, out, errText := w.patra(w.harvestArgs(more...)...)
	if code != wantCode {
		w.t.Fatalf("harvest: exit %d, want %d\n%s%s", code, wantCode, out, errText)
	}
	var r result
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		w.t.Fatalf("harvest output: %v\n%s", err, out)
	}
	return r
}

// Ground truth equals stored ∪ quarantined, whatever the upstream does wrong;
// and a second harvest changes nothing (I2, I8).
func TestHarvestSurvivesAMisbehavingUpstream(t *testing.T) {
	for name, script := range map[string]string{
		"clean":     "",
		"throttled": "429@5-9:retry-after=1;429@every:13",
		"broken":    "truncate-gzip@every:17;reset@every:23;html-200@every:29;503@every:31;error-200@every:37;lost-answer@every:41",
		"dishonest": "empty-200@page:4:times=3;duplicate-page@every:9;expire-cursor@every:43;502@page:3:times=2:advance=true",
	} {
		t.Run(name, func(t *testing.T) {
			onEveryDatabase(t, func(t *testing.T, database string) {
				w := newWorld(t, database, upsim.Config{Seed: 7, PerDay: 300, BadIDEvery: 211, BadDateEvery: 307}, upsim.Options{})
				w.settings = append(w.settings, "window.lookback=P1D") // so that the second harvest meets rejects again
				if script != "" {
					w.faults(script)
				}
				const partial = 3 // rejects are never hidden behind exit 0 (D§5.16)
				first := w.harvest(partial)
				if first.Stats.Inserted == 0 || first.Slices["SUCCEEDED"] != 6 || len(first.Slices) != 1 {
					t.Errorf("first harvest: %+v\n%s", first, w.must("task", "list", "--status", "FAILED", "-o", "json"))
				}
				if want := w.now.Add(-30 * time.Minute).Format(time.RFC3339); first.Cursor != want {
					t.Errorf("watermark %s, want %s", first.Cursor, want)
				}
				before := w.verify()
				w.faultsOff()
				w.now = w.now.Add(time.Minute)
				second := w.harvest(0) // the rejects of the lookback are known
				if second.Stats.Inserted != 0 || second.Stats.Updated != 0 {
					t.Errorf("second harvest stored something new: %+v", second)
				}
				if after := w.verify(); after != before {
					t.Errorf("second harvest changed the store: %+v → %+v", before, after)
				}
				if code, out, _ := w.patra("coverage", "gaps", "crossref", "--to", first.Cursor); code != 0 {
					t.Errorf("gaps after a full harvest: %s", out)
				}
				t.Log(w)
			})
		})
	}
}

// harvestLater harvests as if the database's clock had moved on.
func (w *world) harvestLater(by time.Duration) daemon.Harvested {
	w.t.Helper()
	clock := func() time.Time { return time.Now().Add(by) }
	app, err := daemon.Open(w.t.Context(), daemon.Config{Database: w.database, Clock: clock})
	if err != nil {
		w.t.Fatal(err)
	}
	defer app.Close()
	src, err := daemon.Bundled("crossref")
	if err != nil {
		w.t.Fatal(err)
	}
	var overrides []registry.Override
	for _, text := range w.settings {
		o, err := registry.ParseOverride(text)
		if err != nil {
			w.t.Fatal(err)
		}
		overrides = append(overrides, o)
	}
	compiled, err := daemon.Compile(src, "", ingest.Harvest, overrides)
	if err != nil {
		w.t.Fatal(err)
	}
	to := w.now // not the years since: the simulated world ends here
	h, err := app.Harvest(w.t.Context(), compiled, daemon.NewRequest(clock().Add(-time.Second), nil, &to), daemon.Watch{})
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// A plan for a time that has not come would count it as read for ever.
func TestHarvestOfTheFutureIsRefused(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 2, PerDay: 10}, upsim.Options{})
		w.now = time.Now().Add(24 * time.Hour)
		code, _, errText := w.patra(w.harvestArgs()...)
		if code != 2 || !strings.Contains(errText, "clock") {
			t.Errorf("exit %d: %s", code, errText)
		}
		if out := w.must("cursor", "list", "-o", "json"); !isEmptyList(out) {
			t.Errorf("something was stored: %s", out)
		}
	})
}

func (w *world) faultsOff() {
	w.t.Helper()
	if err := w.server.SetFaults(nil); err != nil {
		w.t.Fatal(err)
	}
}

// What changes upstream between two harvests arrives exactly once; what was
// only re-indexed is not published again (D§5.13).
func TestSecondHarvestBringsChangesOnly(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 11, PerDay: 200}, upsim.Options{})
		w.harvest(0)
		at := w.now.Add(time.Minute)
		n := 0
		for truth := range w.data.Heads() {
			if n++; n > 40 {
				break
			}
			if err := w.data.Touch(truth.DOI, at, n%2 == 0); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			if _, err := w.data.Add("", at); err != nil {
				t.Fatal(err)
			}
		}
		w.now = w.now.Add(time.Hour)
		second := w.harvest(0)
		if second.Stats.Updated != 20 || second.Stats.Inserted != 5 {
			t.Errorf("second harvest: %+v, want 20 updated and 5 inserted", second.Stats)
		}
		w.verify()
	})
}

// A slice that fails stalls the watermark and is fetched by a later harvest:
// the hole is never silent (D§5.7).
func TestFailedSliceStaysOwed(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 3, PerDay: 100, Flat: true}, upsim.Options{})
		w.settings = append(w.settings, "retry.maxAttempts=1", "retry.taskAttempts=1", "retry.giveUpStatus=[500]")
		w.faults("500@1:times=1") // the first slice asked for is refused for good
		const partial = 3
		first := w.harvest(partial, "--workers", "1")
		if first.Slices["FAILED"] != 1 || first.Slices["SUCCEEDED"] != 5 {
			t.Fatalf("slices: %+v", first.Slices)
		}
		if want := weekFrom.Format(time.RFC3339); first.Cursor != want {
			t.Errorf("watermark %s passed the failed slice that starts at %s", first.Cursor, want)
		}
		code, out, _ := w.patra("coverage", "gaps", "crossref")
		if code != 9 || !strings.Contains(out, "2025-03-03") {
			t.Errorf("coverage gaps: exit %d\n%s", code, out)
		}
		second := w.harvestLater(48 * time.Hour) // the failed window's retry time has come
		if second.Plan.Stats.Inserted != 100 {
			t.Errorf("second harvest inserted %d, want the 100 works of the failed day", second.Plan.Stats.Inserted)
		}
		w.verify()
	})
}
