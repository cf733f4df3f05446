package e2e

import (
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/browser"
	"github.com/patra-ingest/patra/internal/upsim"
)

// setText puts a text into the editor as typing does.
func setText(b *browser.Browser, change string) {
	b.Value(`(() => { const at = document.querySelector("#text"); at.value = at.value` + change + `; at.dispatchEvent(new Event("input", {bubbles: true})); })()`)
}

// applyText previews the text of the editor and applies it.
func applyText(b *browser.Browser, reason string) {
	b.Follow("#preview")
	b.Has("#content", "rate.perSecond", "nothing is changed yet")
	b.Type("#reason", reason)
	b.Follow("#apply")
	b.Has("#applied", "It is applied.")
	b.Has("#history", reason)
}

// A person breaks a source file, sees it on its line while typing, mends it, applies it, finds
// it in the history and goes back to what was before. Without JavaScript the button does what
// typing does.
func TestAPersonEditsASourceAndGoesBack(t *testing.T) {
	d := &dashed{subject: startScroll(t, databases["sqlite"](t), upsim.Options{})}
	d.serveDashboard("api")
	b := d.logIn(t)
	b.Visit("/sources/crossref")
	before := b.Value(`document.querySelector("#text").value`)
	b.Type("#text", "nonsense: 1\n")
	b.Await(`#gutter .wrong`)
	b.Has("#problems", "nonsense", "line 1")
	b.Has("#verdict", "1 problem")
	if at := b.Value(`document.querySelector("#gutter .wrong").dataset.line`); at != "1" {
		t.Errorf("line %s is marked, want 1", at)
	}
	b.Shoot("broken")
	setText(b, `.replace("nonsense: 1\n", "").replace(/perSecond: \d+/, "perSecond: 1")`)
	b.Await(`#gutter:not(:has(.wrong))`)
	applyText(b, "they asked for less")
	b.Shoot("applied")
	setText(b, `.replace(/perSecond: \d+/, "perSecond: 2")`)
	applyText(b, "less still")
	b.Follow("#history tbody tr:last-child a")
	b.Has("#content", "This is an old version")
	applyText(b, "that was too slow")
	b.Shoot("back")
	after := b.Value(`document.querySelector("#text").value`)
	if !strings.Contains(after, "perSecond: 1") || after == before {
		t.Errorf("it is not what the first change said:\n%s", after)
	}
	b.ForbidScript()
	b.Visit("/sources/crossref")
	b.Type("#text", "nonsense: 1\n")
	b.Follow("#check")
	b.Has("#problems", "nonsense", "line 1")
	b.Has("#gutter .wrong", "1")
}
