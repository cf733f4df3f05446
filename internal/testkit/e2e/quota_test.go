package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/gate"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/mariadb"
	"github.com/patra-ingest/patra/internal/upsim"
)

// limitedWorld harvests crossref by a file that allows a few requests a day. The
// quota is used up in the middle of the harvest.
func limitedWorld(t *testing.T, database string) *world {
	w := newWorld(t, database, upsim.Config{Seed: 11, PerDay: 40, Flat: true}, upsim.Options{})
	w.apply("quotaPerDay: 3")
	return w
}

// apply writes crossref with other limits into the database.
func (w *world) apply(limits string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "crossref.yaml")
	text := w.bundled("crossref")
	if limits != "" {
		text = strings.Replace(text, "\nrate:\n", "\nrate:\n  quotaMargin: 0\n  "+limits+"\n", 1)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	code, out, errText := w.patra("source", "apply", path)
	if code != 0 {
		w.t.Fatalf("apply: exit %d\n%s%s", code, out, errText)
	}
	return errText
}

// bundled is a bundled source as text, with what the simulator needs.
func (w *world) bundled(code string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "catalog", code+".yaml"))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(text)
}

// waits lists the tasks that wait, with the reason.
func (w *world) waits() map[string]int {
	w.t.Helper()
	var tasks []view.Task
	w.decode(w.must("task", "list", "-o", "json", "--limit", "500"), &tasks)
	out := map[string]int{}
	for _, task := range tasks {
		if task.Waits != nil {
			out[string(task.Waits.Reason)]++
		}
	}
	return out
}

// A harvest that waits for a quota of our own goes on when the quota is lifted, in
// whatever way; and all commands say that it is ours.
func TestTrust11UsedUpQuotaIsLifted(t *testing.T) {
	ways := map[string]func(w *world){
		"released": func(w *world) { w.must("rate", "release", "crossref", "--reason", "they raised it") },
		"removed":  func(w *world) { w.apply("") },
		"raised":   func(w *world) { w.apply("quotaPerDay: 1000") },
		"moved":    func(w *world) { w.apply("quotaPerDay: 1000\n  group: apart") },
	}
	onEveryDatabase(t, func(t *testing.T, database string) {
		for name, lift := range ways {
			t.Run(name, func(t *testing.T) {
				w := limitedWorld(t, fresh(t, database))
				child, output := w.child(w.harvestArgs()...)
				w.awaitQuota()
				w.saysItIsOurs()
				lift(w)
				if err := child.Wait(); err != nil {
					t.Fatalf("%v: %s", err, output)
				}
				w.verify()
			})
		}
	})
}

// The same after the process that waited is gone.
func TestTrust11QuotaIsLiftedForTheNextHarvest(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := limitedWorld(t, database)
		child, _ := w.child(w.harvestArgs()...)
		w.awaitQuota()
		_ = child.Process.Kill()
		_ = child.Wait()
		w.apply("")
		if waits := w.waits(); waits["QUOTA"] != 0 {
			t.Fatalf("after the quota was removed: %v", waits)
		}
		w.must(w.harvestArgs()...)
		w.verify()
	})
}

// fresh is another database of the same kind.
func fresh(t *testing.T, like string) string {
	if strings.HasPrefix(like, "sqlite:") {
		return "sqlite:" + filepath.Join(t.TempDir(), "patra.db")
	}
	return mariadb.DSN(t)
}

// awaitQuota returns when a task waits for the quota.
func (w *world) awaitQuota() {
	w.t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for w.waits()["QUOTA"] == 0 {
		<-again.C
	}
}

// saysItIsOurs: every command that speaks of the wait names the quota, and none the
// upstream.
func (w *world) saysItIsOurs() {
	w.t.Helper()
	for want, args := range map[string][]string{
		"QUOTA of the day until":                {"rate", "list"},
		"QUOTA until":                           {"task", "show", w.waitingTask()},
		"HELD: a limit of our own":              {"status"},
		"patra rate release crossref":           {"status", "crossref"},
		"QUOTA: our own quota is used up":       {"plan", "crossref", "--op", "HARVEST", "--dry-run", "--offline"},
		"begins anew; 3 were used":              {"rate", "release", "crossref", "--reason", "x", "--dry-run"},
		"our own quota under rate key crossref": {"task", "show", w.waitingTask()},
	} {
		_, out, errText := w.patra(args...)
		all := strings.Join(strings.Fields(out+errText), " ")
		if !strings.Contains(all, want) || strings.Contains(all, "COOLING") || strings.Contains(all, "upstream asked") || strings.Contains(all, "upstream says") {
			w.t.Errorf("patra %s, want %q:\n%s%s", strings.Join(args, " "), want, out, errText)
		}
	}
}

// waitingTask is a task that waits for the quota.
func (w *world) waitingTask() string {
	w.t.Helper()
	var tasks []view.Task
	w.decode(w.must("task", "list", "-o", "json", "--limit", "500"), &tasks)
	for _, task := range tasks {
		if task.Waits != nil && task.Waits.Reason == gate.Quota {
			return fmt.Sprint(task.ID)
		}
	}
	w.t.Fatal("no task waits for a quota")
	return ""
}
