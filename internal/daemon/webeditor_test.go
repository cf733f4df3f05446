package daemon

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/view"
)

var (
	editorText  = regexp.MustCompile(`(?s)<textarea[^>]*>\n(.*?)</textarea>`)
	editorMatch = regexp.MustCompile(`name="match" value="([^"]*)"`)
)

// editor reads a page of the editor as a browser would: the text and what it was made from.
func (s *stand) editor(body string) url.Values {
	s.Helper()
	return url.Values{"text": {html.UnescapeString(s.firstIn(body, editorText.String()))}, "match": {s.firstIn(body, editorMatch.String())}}
}

// sends posts the form of the editor and expects a status.
func (s *stand) sends(path string, form url.Values, want int) string {
	s.Helper()
	status, body := s.post(path, form, admin)
	if status != want {
		s.Fatalf("%s answers %d, want %d:\n%s", path, status, want, body)
	}
	s.holdPage(path, body)
	return body
}

func with(form url.Values, pairs ...string) url.Values {
	out := url.Values{}
	for k, v := range form {
		out[k] = v
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		out.Set(pairs[i], pairs[i+1])
	}
	return out
}

// What is wrong with a file stands on its line, also where no script runs.
func TestTheEditorNamesProblemsOnTheirLines(t *testing.T) {
	s := newStand(t)
	s.has(s.page("/sources"), "pubmed", "bundled", `href="/sources/crossref"`)
	form := s.editor(s.page("/sources/pubmed"))
	text := form.Get("text")
	s.has(s.sends("/sources/pubmed/check", with(form, "do", "check"), 200), "Nothing is wrong", "No problem.")

	broken := strings.TrimRight(text, "\n") + "\nnonsense: 1\n"
	line := strings.Count(broken, "\n")
	body := s.sends("/sources/pubmed/check", with(form, "text", strings.ReplaceAll(broken, "\n", "\r\n"), "do", "check"), 200)
	s.has(body, "1 problem in the file of pubmed", "nonsense")
	if found := s.firstIn(body, `<li id="line-\d+" data-line="(\d+)" class="wrong"`); found != strconv.Itoa(line) {
		t.Errorf("line %s is marked, want %d", found, line)
	}
	if again := s.editor(body); again.Get("text") != broken || again.Get("match") != form.Get("match") {
		t.Error("the text or what it was made from did not come back")
	}
	// The file of another source is not this one's, and a text that no file is has a place too.
	s.has(s.sends("/sources/crossref/check", with(form, "do", "diff"), 422), "this is the file of crossref")
	s.has(s.sends("/sources/pubmed/check", with(form, "text", "code: [", "do", "render"), 422), "problem")
	// Characters that nobody sees come back as they were, and are never sent raw.
	hidden := with(form, "text", text+"# a\u200bb\u202ec\n", "do", "check")
	status, body := s.post("/sources/pubmed/check", hidden, admin)
	if status != 200 || strings.ContainsAny(body, "\u200b\u202e") || s.editor(body).Get("text") != hidden.Get("text") {
		t.Errorf("hidden characters: %d", status)
	}
}

// A changed file is applied as it was shown, with a reason, over the version it was made from;
// an old version can become the next one.
func TestTheEditorAppliesAndRollsBack(t *testing.T) {
	s := newStand(t)
	const at = "/sources/pubmed"
	form := s.editor(s.page(at))
	first := form.Get("text")
	slow, slower := changeRate(t, first, "2"), changeRate(t, first, "1")

	s.has(s.sends(at+"/check", with(form, "text", slow, "do", "diff"), 200), "It would change 1 value of pubmed", "rate.perSecond")
	s.has(s.sends(at+"/check", with(form, "text", slow, "do", "render", "from", "2025-03-01", "to", "2025-03-02"), 200), "GET https://eutils", "2025", "nothing was sent")
	s.has(s.sends(at+"/check", with(form, "do", "render", "from", "nonsense"), 422), "This cannot be asked so")
	s.has(s.sends(at+"/check", with(form, "do", "render", "endpoint", "efetch"), 422), "asked by id")

	preview := s.sends(at+"/apply", with(form, "text", slow, "do", "preview"), 200)
	s.has(preview, "Apply this? It changes 1 value of pubmed", "at once", "nothing is changed yet")
	mark := s.firstIn(preview, `name="mark" form="editor" value="([^"]+)"`)
	s.has(s.sends(at+"/apply", with(form, "text", slow, "do", "apply", "mark", mark), 409), "a reason is needed")
	s.has(s.sends(at+"/apply", with(form, "text", slower, "do", "apply", "mark", mark, "reason", "x"), 409), "has changed since you looked")
	if got := s.page(at); !strings.Contains(got, "as it comes with the program") {
		t.Error("something was applied")
	}
	done := s.sends(at+"/apply", with(form, "text", slow, "do", "apply", "mark", mark, "reason", "they asked for less"), 200)
	s.has(done, "pubmed is as you wrote it", "It is applied.", "they asked for less", "api:ops#7", "in force")
	s.noted("they asked for less")

	// Somebody else read the file before that: nothing of it is taken back unseen (R11).
	stale := s.sends(at+"/apply", with(form, "text", slower, "do", "preview"), 409)
	s.has(stale, "pubmed was changed meanwhile", "by api:ops#7", "this is what it would change now", "rate.perSecond")
	fresh := s.editor(stale)
	if fresh.Get("text") != slower || fresh.Get("match") == form.Get("match") {
		t.Error("the text is lost, or still made from the old version")
	}
	s.later.Add(60)
	s.applies(at, fresh, "slower still")

	// The version before it, from the history.
	var old string
	for _, m := range regexp.MustCompile(`href="(/sources/pubmed\?at=[^"]+)"`).FindAllStringSubmatch(s.page(at), -1) {
		old = html.UnescapeString(m[1])
	}
	body := s.page(old)
	s.has(body, "pubmed as it was at", "This is an old version")
	back := s.editor(body)
	if back.Get("text") != slow {
		t.Errorf("the old version says\n%s", back.Get("text"))
	}
	s.later.Add(60)
	s.applies(at, back, "that was too slow")
	if now := s.editor(s.page(at)); now.Get("text") != slow {
		t.Error("it is not what the old version said")
	}
	versions, err := s.app.Inspect.SourceVersions(t.Context(), "pubmed")
	if err != nil || len(versions) != 3 || versions[0].Reason != "that was too slow" || versions[0].State != view.VersionInForce {
		t.Errorf("%+v %v", versions, err)
	}
	s.has(s.sends(at+"/apply", with(s.editor(s.page(at)), "do", "preview"), 200), "pubmed says this already")
}

// applies previews a form and applies it.
func (s *stand) applies(at string, form url.Values, reason string) {
	s.Helper()
	preview := s.sends(at+"/apply", with(form, "do", "preview"), 200)
	s.has(s.sends(at+"/apply", with(form, "do", "apply", "reason", reason, "mark", s.firstIn(preview, `name="mark" form="editor" value="([^"]+)"`)), 200), "It is applied.")
}

// changeRate writes another rate into a file.
func changeRate(t *testing.T, text, rate string) string {
	t.Helper()
	out := regexp.MustCompile(`perSecond: \d+`).ReplaceAllString(text, "perSecond: "+rate)
	if out == text {
		t.Fatalf("the file names no rate:\n%s", text)
	}
	return out
}

// A change can begin later; until then the source is as it was.
func TestTheEditorSchedules(t *testing.T) {
	s := newStand(t)
	const at = "/sources/pubmed"
	form := s.editor(s.page(at))
	later := with(form, "text", changeRate(t, form.Get("text"), "1"), "begin", "2099-01-01")
	preview := s.sends(at+"/apply", with(later, "do", "preview"), 200)
	s.has(preview, "2099-01-01", `value="2099-01-01"`)
	done := s.sends(at+"/apply", with(later, "do", "apply", "reason", "next century", "mark", s.firstIn(preview, `name="mark" form="editor" value="([^"]+)"`)), 200)
	s.has(done, "pubmed changes at 2099-01-01", "It is scheduled.", "scheduled")
	s.has(s.sends(at+"/check", with(form, "do", "diff"), 200), "A version is scheduled from")
}

// One page of the upstream is asked for as a text says, by admins alone, and nothing is stored.
func TestR5TheEditorTriesARequest(t *testing.T) {
	s := newStand(t)
	const at = "/sources/crossref"
	form := s.editor(s.page(at))
	asked := s.asked.Load()
	// What the file wants of this machine, no file may want that comes over the network.
	s.has(s.sends(at+"/test", with(form, "do", "test"), 422), "allowPrivate")
	operator := access.Caller{Name: "op", TokenID: 4, Role: access.Operator}
	if status, _ := s.post(at+"/test", with(form, "do", "test"), operator); status != http.StatusForbidden {
		t.Errorf("an operator: %d", status)
	}
	if s.asked.Load() != asked {
		t.Fatal("the upstream was asked")
	}
	host := s.firstIn(form.Get("text"), `baseUrl: http://([0-9.:]+)`)
	s.app.config.Installed.Remote = registry.Remote{Private: []string{host}, Plain: []string{host}}
	s.web = s.app.newDashboard("test", nil, callerIn, nil)
	// Who is limited to a source cannot send requests of another one from its page.
	s.sends("/sources/pubmed/test", with(form, "do", "test", "from", "2025-03-02", "to", "2025-03-03"), 422)
	if s.asked.Load() != asked {
		t.Error("the upstream of another source was asked")
	}
	body := s.sends(at+"/test", with(form, "do", "test", "from", "2025-03-02", "to", "2025-03-03"), 200)
	s.has(body, "was asked for one page", "HTTP 200", "could be stored", "page: ")
	if s.asked.Load() != asked+1 {
		t.Errorf("%d requests", s.asked.Load()-asked)
	}
	s.read(1, "source.test", "source/crossref", `"host":"`+host+`"`)
	body = s.sends(at+"/test", with(form, "do", "test", "from", brokenDay, "to", "2025-03-06"), 200)
	s.has(body, "a run could not use its answer", "text/html")
}

// Who may only look sees the file and no way to change it; who is limited to another source
// does not see it.
func TestTheEditorByRole(t *testing.T) {
	s := newStand(t)
	viewer := access.Caller{Name: "v", TokenID: 3, Role: access.Viewer}
	_, body := s.get("/sources/pubmed", viewer)
	if !strings.Contains(body, `readonly="readonly"`) || strings.Contains(body, "<button name=\"do\"") || strings.Contains(body, "editor.js") {
		t.Error("a viewer is offered what only others may")
	}
	_, body = s.get("/sources/pubmed", access.Caller{Name: "o", TokenID: 4, Role: access.Operator})
	if !strings.Contains(body, `id="check"`) || strings.Contains(body, `id="preview"`) || strings.Contains(body, `id="test"`) {
		t.Error("an operator is offered what only admins may, or nothing")
	}
	other := access.Caller{Name: "x", TokenID: 5, Role: access.Admin, Sources: []string{"pubmed"}}
	if status, _ := s.get("/sources/crossref", other); status != http.StatusNotFound {
		t.Errorf("another's source: %d", status)
	}
	if _, body := s.get("/sources", other); strings.Contains(body, "crossref") {
		t.Error("another's source is listed")
	}
	for _, path := range []string{"check", "apply", "test"} {
		if status, _ := s.post("/sources/crossref/"+path, url.Values{"text": {"x"}}, other); status != http.StatusNotFound {
			t.Errorf("%s of another's source: %d", path, status)
		}
	}
	if status, to := s.get("/sources/pubmed/apply", admin); status != http.StatusSeeOther || to != "/sources/pubmed" {
		t.Errorf("the address of an action leads to %d %s", status, to)
	}
	if status, _ := s.get("/sources/nothing", admin); status != http.StatusNotFound {
		t.Errorf("an unknown source: %d", status)
	}
}

// A source that does not exist yet begins with a file to change, is checked like others and exists
// once it is applied. Nobody but an admin begins one.
func TestANewSourceIsWrittenInTheEditor(t *testing.T) {
	s := newStand(t)
	s.has(s.page("/sources"), `action="/new-source"`)
	const at = "/sources/mine"
	if status, to := s.get("/new-source?code=mine", admin); status != http.StatusSeeOther || to != at+"?new=1" {
		t.Fatalf("%d %s", status, to)
	}
	if status, _ := s.get(at, admin); status != http.StatusNotFound {
		t.Errorf("before anybody begins it: %d", status)
	}
	operator := access.Caller{Name: "op", TokenID: 4, Role: access.Operator}
	if status, _ := s.get(at+"?new=1", operator); status != http.StatusNotFound {
		t.Errorf("an operator: %d", status)
	}
	other := access.Caller{Name: "other", TokenID: 5, Role: access.Admin, Sources: []string{"pubmed"}}
	if status, _ := s.get(at+"?new=1", other); status != http.StatusNotFound {
		t.Errorf("an admin of another source: %d", status)
	}
	body := s.page(at + "?new=1")
	s.has(body, "mine does not exist yet", "source: mine", `name="new" value="1"`)
	form := with(s.editor(body), "new", "1")
	s.sends(at+"/check", with(form, "do", "check"), 200)
	wrong := with(form, "do", "check", "text", strings.Replace(form.Get("text"), "source: mine", "source: crossref", 1))
	s.has(s.sends(at+"/check", wrong, 200), "this is the file of mine")
	s.applies(at, form, "our own library")
	s.noted("our own library")
	s.has(s.page(at), "mine is as it was applied here")
}
