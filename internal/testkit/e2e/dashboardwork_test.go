package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/browser"
)

// heldShelf is a shelf whose answers for one day can be held back.
type heldShelf struct {
	address string
	day     atomic.Value  // that is held back, as a string
	asked   chan struct{} // one for each request that is held back
	release chan struct{} // one lets one of them go on
}

func startHeldShelf(t *testing.T) *heldShelf {
	h := &heldShelf{asked: make(chan struct{}, 100), release: make(chan struct{}, 100)}
	h.day.Store("")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("from") == h.day.Load() {
			h.asked <- struct{}{}
			select {
			case <-h.release:
			case <-r.Context().Done():
			}
		}
		servePapers(w, r)
	}))
	t.Cleanup(server.Close)
	h.address = server.URL
	return h
}

// applyShelf says where the shelf has its titles.
func (d *dashed) applyShelf(address, title string) {
	d.t.Helper()
	file := filepath.Join(d.t.TempDir(), "shelf.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, shelfFile, address, title), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.must("source", "apply", file, "--reason", "test")
}

// confirm does what the preview of an action shows.
func confirm(b *browser.Browser, reason string) {
	b.Type("#reason", reason)
	b.Follow("form.row button.main")
}

// A group in quarantine is put back where it is seen, after the source file was mended: it goes
// away, and its records are there. A task that is worked on is cancelled on its page, and tried
// again there, and the overview tells how far work has come. Who did each of it and why stands in
// the audit log.
func TestAPersonPutsBackCancelsAndTriesAgain(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		held := startHeldShelf(t)
		d := &dashed{subject: &subject{world: &world{t: t, database: database}, source: "shelf"}}
		d.must("db", "migrate")
		d.applyShelf(held.address, "$.title")
		if code, out, errText := d.patra("harvest", "shelf", "--from", "2025-03-01", "--to", "2025-03-04", "-q"); code != 3 {
			t.Fatalf("exit %d: nothing was rejected\n%s%s", code, out, errText)
		}
		d.applyShelf(held.address, "${coalesce(jsonPath('$.title'), jsonPath('$.name'))}")
		d.serveDashboard("api,executor")
		b := d.logIn(t)

		b.Follow("nav a[href='/errors']")
		b.Has("[aria-labelledby=quarantine-head]", "shelf", "12")
		b.Follow("[aria-labelledby=quarantine-head] tbody th a")
		b.Has("#content", "A sample, with people masked", "name")
		b.Follow("header a.btn.main")
		b.Has("#content", "12 items", "nothing is changed yet")
		confirm(b, "the file knows both names now")
		b.Has("#content", "The items are read again", "12 items")
		b.Follow("#content a.btn.main")
		b.AwaitChange(`document.querySelector("[aria-labelledby=quarantine-head]").innerText.includes("Nothing is in quarantine")`)
		b.Shoot("putback")
		b.Follow("nav a[href='/records']")
		b.Type("#source", "shelf")
		b.Type("#id", "p000")
		b.Follow("form button.main")
		b.Has("#content", "is stored in 1 version", "Paper 0")

		held.day.Store("2025-03-04")
		b.Visit("/coverage/shelf/fill?endpoint=papers&from=2025-03-04&to=2025-03-05")
		confirm(b, "we want this day too")
		<-held.asked
		b.Follow("nav a[href='/']")
		b.Follow("#running tbody th a")
		b.Follow(".tree .level-2 a")
		b.Has(".tree", "at work")
		b.Shoot("atwork")
		b.Follow("#content a[href$='/cancel'][href^='/tasks/']")
		b.Has("#content", "1 task whose worker stops after the page it reads")
		confirm(b, "they asked us to wait")
		b.Follow("#content a.btn.main")
		b.Await("#asof[data-live=on]")
		held.release <- struct{}{}
		b.AwaitChange(`document.querySelector("h1").innerText.includes("0 of 1 slice read, 1 stopped")`)
		b.Has(".tree", "ended, 1 stopped")
		b.Shoot("stopped")
		held.day.Store("")
		b.Follow("#content a[href$='/retry'][href^='/tasks/']")
		confirm(b, "they are ready")
		b.Follow("#content a.btn.main")
		b.AwaitChange(`document.querySelector("h1").innerText.includes("all 1 slice read")`)
		b.Shoot("triedagain")

		// Two days are asked for; one of them is read, and the overview tells so while the other is held back.
		held.day.Store("2025-03-05")
		b.Visit("/coverage/shelf/fill?endpoint=papers&from=2025-03-05&to=2025-03-07")
		confirm(b, "and the rest")
		<-held.asked
		b.Follow("nav a[href='/']")
		b.AwaitChange(`document.querySelector("#running")?.innerText.includes("1 of 2 slices")`)
		b.Await("#asof[data-live=on]")
		b.Shoot("progress")
		held.day.Store("")
		held.release <- struct{}{}
		b.AwaitChange(`document.querySelector("[aria-labelledby=running-head]").innerText.includes("No plan is open")`)

		b.Follow("nav a[href='/audit']")
		b.Has("#content", "quarantine.requeue", "the file knows both names now", "they asked us to wait", "they are ready", "task.cancel", "task.retry", "api:first")
	})
}
