package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// junkShelf is a source with one good paper a day and one without a title, which the
// lookback reads again with every harvest.
type junkShelf struct {
	*brokenShelf
	junk atomic.Pointer[string] // how the bad paper is written
}

func newJunkShelf(t *testing.T, database string) *junkShelf {
	t.Helper()
	j := &junkShelf{brokenShelf: newShelfWorld(t, database)}
	j.write("as it is")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		found := []map[string]any{}
		for day := 1; day <= 5; day++ {
			at := fmt.Sprintf("2025-03-%02d", day)
			if r.FormValue("from") <= at && at <= r.FormValue("until") {
				found = append(found, map[string]any{"id": "good" + at, "updated": at + "T10:00:00Z", "title": "Paper"},
					map[string]any{"id": "bad" + at, "updated": at + "T11:00:00Z", "note": *j.junk.Load()})
			}
		}
		if r.FormValue("at") != "0" {
			found = nil
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": found, "count": len(found)})
	}))
	t.Cleanup(server.Close)
	text := strings.Replace(fmt.Sprintf(shelfFile, server.URL, "$.title"), "name: A shelf", "name: A shelf\nwindow: {lookback: P2D}", 1)
	file := filepath.Join(t.TempDir(), "shelf.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	j.must("source", "apply", file, "--reason", "test")
	return j
}

func (j *junkShelf) write(text string) { j.junk.Store(&text) }

// ends is a harvest with an exit code.
func (j *junkShelf) ends(want int, says string, more ...string) {
	j.t.Helper()
	if code, out, errText := j.harvests(more...); code != want || !strings.Contains(out+errText, says) {
		j.t.Errorf("exit %d, want %d and %q\n%s%s", code, want, says, out, errText)
	}
}

// The same junk comes with every lookback. It is told once: what stands in quarantine
// unchanged is known, and only what is new ends a run with exit code 3.
func TestTrust15KnownRejectsAreNoNews(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		j := newJunkShelf(t, database)
		j.ends(3, "5 items in quarantine", "--from", "2025-03-01", "--to", "2025-03-06")
		j.ends(0, "in quarantine already and unchanged")
		j.write("it has changed")
		j.ends(3, "items in quarantine, kept with the reason")
		j.ends(0, "in quarantine already and unchanged")
		if code, out, errText := j.patra("update", "shelf", "--from", "2025-03-04", "--to", "2025-03-06"); code != 0 || !strings.Contains(errText, "in quarantine already and unchanged") {
			t.Errorf("update: exit %d\n%s%s", code, out, errText)
		}
		// They are open all the same, and a glance says so.
		if code, out, _ := j.patra("status", "shelf"); code != 9 || !strings.Contains(out, "in quarantine") {
			t.Errorf("status: exit %d\n%s", code, out)
		}
		j.write("it has changed again")
		if code, _, errText := j.patra("update", "shelf", "--from", "2025-03-04", "--to", "2025-03-06"); code != 3 {
			t.Errorf("an update with news: exit %d\n%s", code, errText)
		}
	})
}
