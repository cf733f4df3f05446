package daemon

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/driver/installation"
)

// poster posts source files of an attacker who has a token of an admin, to every way that takes them.
type poster struct {
	*programs
	token   string
	file    string // that is in force
	match   string
	acts    int64
	victim  *httptest.Server // on this machine, which nobody may ask
	reached atomic.Int64
}

func newPoster(t *testing.T) *poster {
	t.Helper()
	p := &poster{programs: newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")}
	p.exec("DELETE FROM ing_rate_pause") // nothing waits
	p.token = p.newToken("admin", access.Admin, time.Hour)
	file, err := webSources{apiSources{p.app}}.FileAt(t.Context(), "crossref", nil)
	p.must(err)
	p.file, p.match = file.YAML, p.programs.match()
	p.victim = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { p.reached.Add(1) }))
	t.Cleanup(p.victim.Close)
	p.acts = p.newestAct()
	return p
}

// posted are the ways that take a source file, and what their refusal looks like.
var posted = []string{"/v1/source-files/check", "/v1/source-files/diff", "/v1/sources/crossref/apply", "/sources/crossref/check", "/sources/crossref/test", "/sources/crossref/apply"}

// post sends a text one way, and returns what is answered.
func (p *poster) postText(way, text string) *httptest.ResponseRecorder {
	p.Helper()
	if strings.HasPrefix(way, "/v1/") {
		body, err := json.Marshal(map[string]any{"yaml": text})
		p.must(err)
		if strings.HasSuffix(way, "/apply") {
			body, err = json.Marshal(map[string]any{"yaml": text, "reason": "x"})
			p.must(err)
		}
		return p.postBody(way, string(body))
	}
	form := url.Values{"text": {text}, "match": {strings.Trim(p.match, `"`)}, "do": {way[strings.LastIndex(way, "/")+1:]}, "reason": {"x"}, "from": {"2025-03-02"}, "to": {"2025-03-03"}}
	return p.ask(http.MethodPost, way, form.Encode(), "Authorization", p.token, "Content-Type", "application/x-www-form-urlencoded")
}

func (p *poster) postBody(way, body string) *httptest.ResponseRecorder {
	p.Helper()
	return p.ask(http.MethodPost, way, body, "Authorization", p.token, "If-Match", p.match)
}

// refused holds that a text is refused every way, names why, tells nothing of the inside and changes
// nothing.
func (p *poster) refused(name, text string, says ...string) {
	p.Helper()
	for _, way := range posted {
		w := p.postText(way, text)
		what, told := name+" to "+way, w.Body.String()
		checks := strings.HasSuffix(way, "/check") // whose answer is what is wrong
		if checks != (w.Code == http.StatusOK) || w.Code >= http.StatusInternalServerError {
			p.Errorf("%s: %d %.300s", what, w.Code, textOf(told))
			continue
		}
		if strings.HasPrefix(way, "/v1/") || w.Code != http.StatusRequestEntityTooLarge {
			found := len(says) == 0
			for _, one := range says {
				found = found || strings.Contains(told, one)
			}
			if !found {
				p.Errorf("%s does not say %q: %.300s", what, says, textOf(told))
			}
		}
		if checks && (strings.Contains(told, `"problems":[]`) || strings.Contains(told, "Nothing is wrong with")) {
			p.Errorf("%s: nothing is wrong with it: %.300s", what, told)
		}
		if strings.Contains(told, "goroutine ") || strings.Contains(told, ".go:") || len(told) > 1<<20 {
			p.Errorf("%s tells of the inside, or too much: %d bytes, %.300s", what, len(told), told)
		}
	}
	p.untouched(name)
}

// untouched holds that the source is as it was, that nobody was asked, and that nothing was done.
func (p *poster) untouched(name string) {
	p.Helper()
	if got := p.programs.match(); got != p.match {
		p.Fatalf("%s was applied", name)
	}
	if p.reached.Load() != 0 {
		p.Fatalf("%s: somebody was asked who must not be", name)
	}
	if got := p.newestAct(); got != p.acts {
		p.Errorf("%s left %d rows", name, got-p.acts)
		p.acts = got
	}
}

// withBase is the file of the source with another address of its upstream, and with what else its
// http section says.
func (p *poster) withBase(base, more string) string {
	p.Helper()
	old := p.firstIn(p.file, `(?m)^(\s*baseUrl: .*)$`)
	out := strings.Replace(p.file, old, old[:strings.Index(old, "baseUrl:")]+"baseUrl: "+base, 1)
	out = strings.Replace(out, p.firstIn(p.file, `(?m)^(\s*allowPrivate: true)\n`)+"\n", more, 1)
	return out
}

// TestA4PostedFilesReachNoPrivateAddress posts files whose upstream is on this machine or in a private
// network, in every spelling, with and without the wish for private addresses. With the wish they are
// refused; without it a trial request is not sent.
func TestA4PostedFilesReachNoPrivateAddress(t *testing.T) {
	p := newPoster(t)
	_, port, err := net.SplitHostPort(p.victim.Listener.Addr().String())
	p.must(err)
	hosts := []string{"127.0.0.1:" + port, "localhost:" + port, "127.1:" + port, "0.0.0.0:" + port, "2130706433:" + port, "0x7f000001:" + port, "0177.0.0.1:" + port,
		"[::1]:" + port, "[::ffff:127.0.0.1]:" + port, "[::]:" + port, "169.254.169.254", "10.0.0.1", "192.168.0.1", "[fd00::1]", "[fe80::1]"}
	indent := p.firstIn(p.file, `(?m)^(\s*)allowPrivate: true`)
	for _, host := range hosts {
		for _, scheme := range []string{"http://", "https://"} {
			text := p.withBase(scheme+host, indent+"allowPrivate: true\n"+indent+"allowHttp: true\n")
			p.refused("private "+scheme+host, text, "E-REMOTE", "not allowed here", "not a valid", "E-", "problem")
			// Without the wish it may be a file like any other; its request goes nowhere.
			w := p.postText("/sources/crossref/test", p.withBase(scheme+host, ""))
			if told := textOf(w.Body.String()); w.Code >= http.StatusInternalServerError || w.Code == http.StatusOK && !strings.Contains(told, "a run could not use its answer") {
				t.Errorf("%s%s: %d %.300s", scheme, host, w.Code, told)
			}
			if p.reached.Load() != 0 {
				t.Fatalf("%s%s was asked", scheme, host)
			}
			p.acts = p.newestAct() // who tried it is noted
		}
	}
}

// TestA5PermissionOfOneHostIsNotThatOfItsAddress posts files with other names and ports for the address of a
// host that the installation lets files ask: the permission is that of the host as it is listed.
func TestA5PermissionOfOneHostIsNotThatOfItsAddress(t *testing.T) {
	p := newPoster(t)
	_, port, err := net.SplitHostPort(p.victim.Listener.Addr().String())
	p.must(err)
	indent := p.firstIn(p.file, `(?m)^(\s*)allowPrivate: true`)
	for _, host := range []string{"localhost:" + port, "127.0.0.1:" + port} {
		p.refused("another host "+host, p.withBase("http://"+host, indent+"allowPrivate: true\n"), "E-REMOTE", "not allowed here")
	}
	// A host that may be asked sends on to one that may not.
	away := httptest.NewServer(http.RedirectHandler(p.victim.URL, http.StatusFound))
	defer away.Close()
	listed := strings.TrimPrefix(away.URL, "http://")
	p.app.config.Installed.Remote = registry.Remote{Private: []string{listed}, Plain: []string{listed}}
	p.web = p.app.newDashboard("test", nil, callerIn, nil)
	status, body := p.post("/sources/crossref/test", url.Values{"text": {p.withBase(away.URL, indent+"allowPrivate: true\n")}, "match": {strings.Trim(p.match, `"`)}, "do": {"test"}, "from": {"2025-03-02"}, "to": {"2025-03-03"}}, admin)
	if status != http.StatusOK || !strings.Contains(body, "a run could not use its answer") || p.reached.Load() != 0 {
		t.Errorf("%d, %d requests at the other host: %.500s", status, p.reached.Load(), textOf(body))
	}
}

// TestA14A16JSONBodiesAreRefused posts JSON that is deep, huge, cut off or has a name twice to what takes
// source files. A name that is spelled otherwise is another name.
func TestA14A16JSONBodiesAreRefused(t *testing.T) {
	p := newPoster(t)
	yaml, err := json.Marshal(strings.Replace(p.file, "perSecond: 1000", "perSecond: 7", 1))
	p.must(err)
	deep := strings.Repeat(`[`, 400_000)
	for name, body := range map[string]string{
		"deep lists": `{"yaml":` + deep + strings.Repeat(`]`, 400_000) + `}`, "deep objects": `{"yaml":` + strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + "}", "unclosed": `{"yaml":` + deep,
		"huge": `{"yaml":"` + strings.Repeat("x", 2<<20) + `"}`, "too long a text": `{"yaml":"` + strings.Repeat("x", 600_000) + `"}`, "cut off": `{"yaml":"x`, "two values": `{"yaml":"x"}{"yaml":"y"}`,
		"a number": `{"yaml":1e999}`, "a list": `["yaml"]`, "null": `null`, "nothing": ``, "other spelling": `{"yaml":"x","YAML":"y"}`, "a fold of letters": `{"yaml":"x","dry\u212aun":true}`, "broken text": "{\"yaml\":\"\xff\xfe\"}",
		"rehearsed, and not": `{"reason":"x","yaml":` + string(yaml) + `,"dryRun":true,"dryrun":false}`,
	} {
		for _, way := range posted {
			if !strings.HasPrefix(way, "/v1/") {
				continue
			}
			w := p.postBody(way, body)
			if w.Code == http.StatusOK && name == "broken text" && strings.HasSuffix(way, "/check") {
				continue // what is wrong with it is told
			}
			if w.Code < http.StatusBadRequest || w.Code >= http.StatusInternalServerError {
				t.Errorf("%s to %s: %d %.300s", name, way, w.Code, w.Body)
				continue
			}
			p.holdProblem(name+" to "+way, w)
			if w.Body.Len() > 100_000 {
				t.Errorf("%s to %s is answered with %d bytes", name, way, w.Body.Len())
			}
		}
		p.untouched(name)
	}
	// A dry run cannot be talked away by a name that is there twice.
	w := p.postBody("/v1/sources/crossref/apply", `{"reason":"x","yaml":`+string(yaml)+`,"dryRun":true,"dryRun":false}`)
	if w.Code != http.StatusBadRequest && w.Code != http.StatusUnprocessableEntity {
		t.Errorf("twice: %d %s", w.Code, w.Body)
	}
	p.untouched("a name that is there twice")
}

// TestA19A20A21CostlyTextsAreRefused posts files whose patterns, templates and paths are made to cost much.
func TestA19A20A21CostlyTextsAreRefused(t *testing.T) {
	p := newPoster(t)
	at := func(key, value string) string {
		old := p.firstIn(p.file, `(?m)^(\s*`+key+`: .*)$`)
		quoted, err := json.Marshal(value)
		p.must(err)
		return strings.Replace(p.file, old, old[:strings.Index(old, key)]+key+": "+string(quoted), 1)
	}
	for key, values := range map[string][]string{
		"pattern": {"((x{100}){100}){100}", "("}, // A19
		"rows": {
			"${regexFind(page.token, '((a{100}){100}){100}')}", "${regexFind(page.token, page.url)}", // A19
			"${exec('id')}", "${env.HOME}", "${file('/etc/passwd')}", "${map(1..1000000000, # + 1)}", "${repeat('x', 1000000000)}", "${" + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", // A20
		},
		"items": {"$..*..*", "$..[?@..x]", "$[?@.a==$.b]", "$" + strings.Repeat("[*]", 500), `$.a[?match(@.t, '((x{100}){100}){100}')]`}, // A21, A19
	} {
		for _, value := range values {
			p.refused(fmt.Sprintf("%s: %.40s", key, value), at(key, value))
		}
	}
}

// TestA22PostedFilesDoNotExhaustTheReader posts YAML that is made to exhaust who reads it: bombs of aliases,
// depth, names that are there twice, tags, and too many values.
func TestA22PostedFilesDoNotExhaustTheReader(t *testing.T) {
	p := newPoster(t)
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 x\n")
	for n := range 9 {
		fmt.Fprintf(&bomb, "a%d: &a%d [%s*a%d]\n", n+1, n+1, strings.Repeat(fmt.Sprintf("*a%d, ", n), 9), n)
	}
	for name, text := range map[string]string{
		"a bomb of aliases": bomb.String(), "an alias of itself": "a: &a [*a]\n", "deep lists": strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "deep blocks": strings.Repeat("- ", 5000) + "x", "unclosed": strings.Repeat("[", 15_000),
		"a name twice": p.file + "\nsource: crossref\n", "a tag": strings.Replace(p.file, "source: crossref", "source: !!binary Y3Jvc3NyZWY=", 1), "a tag of a type": "!!python/object/apply:os.system ['id']\n", "merge keys": "x: &x {a: 1}\n" + p.file + "\n<<: *x\n",
		"many values": strings.Repeat("a: b\n", 20_000), "two documents": p.file + "\n---\n" + p.file, "not text": "source: \xff\n", "nul": `source: "a\0b"`,
	} {
		p.refused(name, text)
	}
}

// TestA33A34TrialsTellNoSecret posts a file whose request needs a key and whose upstream repeats it in its answer
// and in its headers: neither the page, the audit log nor the log of the process has it.
func TestA33A34TrialsTellNoSecret(t *testing.T) {
	const key = "k3y-0f-th3-upstream-9f8e7d"
	t.Setenv("PATRA_TEST_KEY", key)
	t.Setenv("HOME", t.TempDir()) // where consent is kept
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	p := newPoster(t)
	var sent atomic.Int64
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Get("Authorization") + r.URL.RawQuery
		if strings.Contains(given, key) {
			sent.Add(1)
		}
		w.Header().Set("X-Your-Key", key)
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":"the key %s is wrong","you":"%s"}`, key, url.QueryEscape(given))
	}))
	defer echo.Close()
	listed := strings.TrimPrefix(echo.URL, "http://")
	p.app.config.Installed.Remote = registry.Remote{Private: []string{listed}, Plain: []string{listed}}
	p.web = p.app.newDashboard("test", nil, callerIn, nil)
	indent := p.firstIn(p.file, `(?m)^(\s*)allowPrivate: true`)
	text := p.withBase(echo.URL, indent+"allowPrivate: true\n") + "credentials:\n  mine:\n    type: BEARER\n    value: env:PATRA_TEST_KEY\nauth:\n  credential: mine\n  required: true\n"
	try := func(want int) {
		t.Helper()
		status, body := p.post("/sources/crossref/test", url.Values{"text": {text}, "match": {strings.Trim(p.match, `"`)}, "do": {"test"}, "from": {"2025-03-02"}, "to": {"2025-03-03"}}, admin)
		if status != want {
			t.Errorf("%d, want %d: %.500s", status, want, textOf(body))
		}
		if strings.Contains(body, key) || strings.Contains(p.log.String(), key) {
			t.Errorf("the key is told: %.1500s", textOf(body))
		}
		if rows := p.texts("SELECT COALESCE(detail, '') || COALESCE(reason, '') || object FROM ing_audit_log"); strings.Contains(strings.Join(rows, "\n"), key) {
			t.Error("the audit log has the key")
		}
	}
	try(http.StatusForbidden) // nobody agreed that it is sent there
	if sent.Load() != 0 {
		t.Fatal("the key was sent without consent")
	}
	agreed, err := installation.OpenAgreed()
	p.must(err)
	p.app.guard.in.agreed = agreed
	p.must(p.app.guard.Agree(t.Context(), Uses(mustDecode(t, []byte(text))), ingest.Act{Actor: "test", Reason: "x"}))
	try(http.StatusOK)
	if sent.Load() == 0 {
		t.Error("the key was not sent: nothing was tried")
	}
	// What is checked and applied is answered without values of keys, too.
	for _, way := range posted {
		if w := p.postText(way, text); strings.Contains(w.Body.String(), key) {
			t.Errorf("%s tells the key: %.500s", way, w.Body)
		}
	}
}

// TestR12APostedFileIsToldToItsPosterAlone puts a mark into every value of a file, one after the other,
// and lets it be checked every way: problems may repeat it to who posted it, with its line, and it
// reaches neither the log nor a table (decision 126).
func TestR12APostedFileIsToldToItsPosterAlone(t *testing.T) {
	p := newPoster(t)
	const mark = "CANARY77"
	lines, marked, answered := strings.Split(p.file, "\n"), 0, 0
	for n, line := range lines {
		key, value, pair := strings.Cut(line, ": ")
		if !pair || value == "" || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		marked++
		with := append(append(append([]string{}, lines[:n]...), key+": "+mark), lines[n+1:]...)
		for _, way := range []string{"/v1/source-files/check", "/sources/crossref/check"} {
			w := p.postText(way, strings.Join(with, "\n"))
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%s, line %d: %d %s", way, n+1, w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), mark) {
				answered++
			}
		}
	}
	if marked < 30 || answered == 0 {
		t.Fatalf("%d values were marked and %d answers had one: this proves nothing", marked, answered)
	}
	if strings.Contains(p.log.String(), mark) {
		t.Errorf("the log repeats a value of a posted file: %s", p.log.String())
	}
	rows, err := p.db.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL")
	p.must(err)
	var tables []string
	for rows.Next() {
		var name string
		p.must(rows.Scan(&name))
		tables = append(tables, name)
	}
	p.must(rows.Err())
	for _, table := range tables {
		p.must(holdsNowhere(t, p, table, mark))
	}
}

// holdsNowhere looks for a text in every value of a table.
func holdsNowhere(t *testing.T, p *poster, table, text string) error {
	t.Helper()
	rows, err := p.db.QueryContext(t.Context(), "SELECT * FROM "+table)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new([]byte)
		}
		if err := rows.Scan(values...); err != nil {
			return err
		}
		for i, v := range values {
			if strings.Contains(string(*v.(*[]byte)), text) {
				t.Errorf("%s.%s has a value of a posted file", table, columns[i])
			}
		}
	}
	return rows.Err()
}
