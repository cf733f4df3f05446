package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/upsim"
)

// agents counts requests by the program they say they come from.
type agents struct {
	*arrivals
	mu   sync.Mutex
	by   map[string]int
	gate sync.RWMutex // held: answers wait
}

func (a *agents) entry(e upsim.Entry) {
	a.mu.Lock()
	a.by[e.Header.Get("User-Agent")]++
	a.mu.Unlock()
	a.arrivals.entry(e)
	a.gate.RLock()
	defer a.gate.RUnlock()
}

func (a *agents) taken() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	by := a.by
	a.by = map[string]int{}
	return by
}

// renamed is the bundled source under another User-Agent, with one output field less.
func renamed(t *testing.T, agent string) string {
	t.Helper()
	text, err := catalog.Read("crossref")
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "Accept: application/json", "Accept: application/json\n    User-Agent: "+agent, 1)
	changed = strings.Replace(changed, "    publisher: $.publisher\n", "", 1)
	if !strings.Contains(changed, agent) || strings.Contains(changed, "$.publisher") {
		t.Fatal("the bundled file has changed: this test edits it")
	}
	file := filepath.Join(t.TempDir(), "crossref.yaml")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// I10: a source that is changed while a harvest runs changes nothing in that
// harvest, not even after the process was killed and another one went on.
func TestChangedSourceDoesNotReachARunningHarvest(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		came := &agents{arrivals: newArrivals(), by: map[string]int{}}
		w := newWorld(t, database, upsim.Config{Seed: 31, PerDay: 200}, upsim.Options{OnEntry: came.entry})
		w.must("source", "apply", renamed(t, "patra-before"))
		w.faults("slow@*:delay=5ms")
		running, output := w.child(w.harvestArgs("--workers", "1", "--lease", "2s")...)
		ended := make(chan struct{})
		go func() {
			_ = running.Wait()
			close(ended)
		}()
		if !came.wait(3, ended) {
			t.Fatalf("the harvest ended too early: %s", output)
		}
		came.gate.Lock() // the harvest must not end before the source has changed
		w.must("source", "apply", renamed(t, "patra-after"))
		came.gate.Unlock()
		if !came.wait(3, ended) {
			t.Fatalf("the harvest ended too early: %s", output)
		}
		_ = running.Process.Kill()
		<-ended
		if by := came.taken(); by["patra-before"] == 0 || len(by) != 1 {
			t.Errorf("requests by agent: %v, want only those of the source the plan was made with", by)
		}
		w.faultsOff()
		w.harvest(0) // finishes the old plan, then plans anew
		by := came.taken()
		if by["patra-before"] == 0 {
			t.Errorf("requests by agent: %v; the old plan went on with another source", by)
		}
		w.verify()
		came.taken()
		later := w.now
		w.now = w.now.Add(1)
		w.harvest(0)
		if by := came.taken(); by["patra-before"] != 0 {
			t.Errorf("requests by agent: %v; a plan made after %s uses the old source", by, later)
		}
	})
}

// D§5.8: who asks for something else has a watermark of its own, and nothing of
// what the other one harvested counts for it.
func TestAnotherQuestionHasItsOwnWatermark(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 32, PerDay: 20}, upsim.Options{})
		w.harvest(0)
		plan := func(more ...string) (p struct {
			Empty  bool   `json:"empty"`
			Hash   string `json:"exprProtoHash"`
			Slices []any  `json:"slices"`
		}) {
			args := append(w.harvestArgs(more...), "--dry-run")
			args[0] = "plan"
			if err := json.Unmarshal([]byte(w.must(args...)), &p); err != nil {
				t.Fatal(err)
			}
			return p
		}
		same, reordered := plan(), plan("--set", "contact.email=me@example.org")
		other := plan("--set", `query.where=oneOf(type, "journal-article", "monograph")`)
		turned := plan("--set", `query.where=oneOf(type, "monograph", "journal-article")`)
		if same.Hash != reordered.Hash || len(reordered.Slices) != len(same.Slices) {
			t.Error("a contact address started a new watermark")
		}
		if other.Hash == same.Hash || len(other.Slices) <= len(same.Slices) {
			t.Errorf("another question: %d slices, hash %s; the old one: %d, %s", len(other.Slices), other.Hash, len(same.Slices), same.Hash)
		}
		if turned.Hash != other.Hash {
			t.Error("the order of a list started a new watermark")
		}
	})
}
