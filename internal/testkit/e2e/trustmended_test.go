package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/localstore"
	"github.com/patra-ingest/patra/internal/upsim"
)

// brokenShelf is a source that was applied, and whose third day the upstream refuses
// until it is mended.
type brokenShelf struct {
	*world
	url     string
	broken  atomic.Bool
	refused atomic.Int32
}

// newShelfWorld has a database and no source yet. It is noon after the last paper.
func newShelfWorld(t *testing.T, database string) *brokenShelf {
	t.Helper()
	b := &brokenShelf{world: newWorld(t, database, upsim.Config{Seed: 1, PerDay: 1}, upsim.Options{})}
	b.now = time.Date(2025, 3, 6, 12, 0, 0, 0, time.UTC)
	return b
}

// newBrokenShelf is a shelf after its first harvest: the day failed, its retry is not
// due, and the upstream is well again.
func newBrokenShelf(t *testing.T, database string) *brokenShelf {
	t.Helper()
	b := newShelfWorld(t, database)
	inner, err := url.Parse(shelf(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(inner)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if b.broken.Load() && r.FormValue("from") <= "2025-03-03" && "2025-03-03" <= r.FormValue("until") {
			b.refused.Add(1)
			http.Error(w, "this day is broken", http.StatusInternalServerError)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	b.url = front.URL
	b.broken.Store(true)
	b.apply("A shelf")
	b.waits("--from", "2025-03-01")
	b.broken.Store(false)
	return b
}

func (b *brokenShelf) apply(name string) {
	b.t.Helper()
	text := fmt.Sprintf(shelfFile, b.url, "$.id")
	text = strings.Replace(text, "name: A shelf", "name: "+name+"\nretry: {maxAttempts: 1, taskAttempts: 1}", 1)
	file := filepath.Join(b.t.TempDir(), "shelf.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.must("source", "apply", file, "--reason", "test")
}

// harvests is one harvest, a second after the one before.
func (b *brokenShelf) harvests(more ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	b.now = b.now.Add(time.Second)
	return b.patra(append([]string{"harvest", "shelf", "--now", b.now.Format(time.RFC3339)}, more...)...)
}

var saysWhen = regexp.MustCompile(`a harvest from \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ on tries them again; now: patra harvest shelf --retry`)

// waits is a harvest that leaves the day, and says from when on it is tried again and
// which command does not wait.
func (b *brokenShelf) waits(more ...string) {
	b.t.Helper()
	if code, out, errText := b.harvests(more...); code != 3 || !saysWhen.MatchString(errText) {
		b.t.Errorf("exit %d, and not when it is tried again:\n%s%s", code, out, errText)
	}
}

// comes is a harvest that reads the day: nothing is owed after it.
func (b *brokenShelf) comes(more ...string) {
	b.t.Helper()
	if code, out, errText := b.harvests(more...); code != 0 {
		b.t.Errorf("exit %d\n%s%s", code, out, errText)
	}
	if code, out, errText := b.patra("coverage", "gaps", "shelf"); code != 0 || !strings.Contains(out, "no gaps in [2025-03-01, ") {
		b.t.Errorf("gaps: exit %d\n%s%s", code, out, errText)
	}
	b.must("cursor", "verify")
}

// After the cause is fixed the data comes: whoever waits is told for how long, and
// each way to say "it is mended" reads the day at once.
func TestTrust13MendedDataComes(t *testing.T) {
	for name, c := range map[string]struct {
		mend func(b *brokenShelf)
		then []string
	}{
		"harvest --retry": {func(*brokenShelf) {}, []string{"--retry"}},
		"resume": {func(b *brokenShelf) {
			b.must("source", "pause", "shelf", "--reason", "they are down")
			b.must("source", "resume", "shelf", "--reason", "they are back")
		}, nil},
		"apply": {func(b *brokenShelf) { b.apply("A mended shelf") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			onEachDatabaseInTurn(t, func(t *testing.T, database string) {
				b := newBrokenShelf(t, database)
				b.waits() // nobody said that it is mended
				c.mend(b)
				b.comes(c.then...)
			})
		})
	}
}

// What is still broken waits again: a resume brings one try, not one with every harvest.
func TestTrust13AResumeIsOneTry(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		b := newBrokenShelf(t, database)
		b.broken.Store(true)
		b.must("source", "pause", "shelf", "--reason", "they are down")
		b.must("source", "resume", "shelf", "--reason", "they are back")
		for _, tries := range []int32{1, 0} {
			before := b.refused.Load()
			b.waits()
			if n := b.refused.Load() - before; n != tries {
				t.Errorf("tried %d times, want %d", n, tries)
			}
		}
	})
}

// What is planned is shown as planned: by `source resume --retry`, and by a fill.
func TestTrust13GapsShowWhatIsPlanned(t *testing.T) {
	for name, plan := range map[string][]string{
		"resume --retry": {"source", "resume", "shelf", "--retry", "--reason", "they are back"},
		"fill":           {"coverage", "fill", "shelf", "--reason", "they are back"},
	} {
		t.Run(name, func(t *testing.T) {
			onEachDatabaseInTurn(t, func(t *testing.T, database string) {
				b := newBrokenShelf(t, database)
				if out := b.must(plan...); !strings.Contains(out, "[2025-03-03, 2025-03-04)") {
					t.Errorf("patra %s:\n%s", strings.Join(plan, " "), out)
				}
				code, out, errText := b.patra("coverage", "gaps", "shelf")
				if code != 9 || !strings.Contains(unfold(out), "planned, and waits for a worker") || !strings.Contains(errText, "all of them are planned") {
					t.Errorf("gaps: exit %d\n%s%s", code, out, errText)
				}
				if code, out, errText := b.patra(plan...); code != 0 || strings.Contains(out, "2025-03-03") {
					t.Errorf("planned twice: exit %d\n%s%s", code, out, errText)
				}
				b.comes()
			})
		})
	}
}

// unfold takes the line breaks of a table out.
func unfold(text string) string { return strings.Join(strings.Fields(text), " ") }

// A source whose key was refused stops. With another key the next harvest goes on by
// itself and reads what failed; without one it is refused and asks nobody.
func TestTrust13AnotherSecretIsTriedAtOnce(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		f := authForm(t, "key-header")
		s := &subject{world: newWorld(t, database, upsim.Config{Seed: 61, PerDay: 30, Flat: true}, upsim.Options{}), source: "form-key-header", lag: 10 * time.Minute}
		front := &door{}
		front.serves(t, s, f)
		right := os.Getenv("FORM_SECRET")
		t.Setenv("FORM_SECRET", "a wrong key")
		if code, _, errText := s.patra(s.args()...); code == 0 {
			t.Fatalf("exit 0 with a wrong key: %s", errText)
		}
		asked := front.server.Load().Requests()
		if code, _, errText := s.patra(s.args()...); code != 6 || front.server.Load().Requests() != asked {
			t.Errorf("stopped: exit %d, %d requests\n%s", code, front.server.Load().Requests()-asked, errText)
		}
		t.Setenv("FORM_SECRET", right)
		s.must(s.args()...)
		s.sane()
		if code, out, errText := s.patra("coverage", "gaps", s.source); code != 0 {
			t.Errorf("gaps: exit %d\n%s%s", code, out, errText)
		}
		if records, err := localstore.Beside(t, s.database).Records(t.Context(), s.source, "works", nil, 100_000); err != nil || len(records) != s.data.Len() {
			t.Errorf("%d of %d records, %v", len(records), s.data.Len(), err)
		}
	})
}

// loud is a command with the settings of the world, and with its hints.
func (w *world) loud(command string, more ...string) (code int, stdout, stderr string) {
	w.t.Helper()
	args := append([]string{command, "crossref", "--now", w.now.Format(time.RFC3339)}, more...)
	for _, s := range w.settings {
		args = append(args, "--set", s)
	}
	return w.patra(args...)
}

// No message promises a retry that cannot mend anything.
func TestTrust13CappedIsNotPromised(t *testing.T) {
	onEachDatabaseInTurn(t, func(t *testing.T, database string) {
		w := newWorld(t, database, upsim.Config{Seed: 13, PerDay: 30, Flat: true}, upsim.Options{})
		w.settings = append(w.settings, "paging.maxResults=20", "paging.size=10", "slicing.minStep=P1D", "slicing.step=P1D")
		const way = "holds more than the upstream serves (CAPPED) and no retry helps"
		code, _, errText := w.loud("harvest", "--from", "2025-03-03")
		if code != 3 || !strings.Contains(errText, way) || !strings.Contains(errText, "patra coverage waive crossref --from 2025-03-0") || strings.Contains(errText, "tries them again") {
			t.Errorf("harvest: exit %d\n%s", code, errText)
		}
		code, out, errText := w.patra("coverage", "gaps", "crossref")
		if code != 9 || !strings.Contains(unfold(out), "(CAPPED), no retry helps") || !strings.Contains(errText, way) {
			t.Errorf("gaps: exit %d\n%s%s", code, out, errText)
		}
	})
}
