package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/trust"
	"github.com/patra-ingest/patra/internal/core/view"
)

// onDisk are the names of flags that lead to a place on the disk.
var onDisk = []string{"out", "db", "database", "rawDir", "archiveDir", "eventsFile", "file", "fileName", "dir", "folder", "name", "config"}

// wayOut are texts that lead out of a folder, or that a file system takes for something else.
var wayOut = []string{"../../x", "/etc/passwd", "CON", `..\\..\\x`, "x/../../y", strings.Repeat("x", 4096)}

// TestA25R6NoRequestNamesAPlaceOnTheDisk gives every route that takes a body the fields that lead to
// files elsewhere, and asks for files of exports by names that lead out of their folder: all is
// refused, and the folder has names that were made here.
func TestA25R6NoRequestNamesAPlaceOnTheDisk(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	token := p.newToken("admin", access.Admin, time.Hour)
	calls := 0
	p.eachRoute(func(method, path string, _ *huma.Operation) {
		if method == http.MethodGet {
			return
		}
		body := p.realBody(promises[method+" "+path].body)
		for _, field := range onDisk {
			calls++
			sent := strings.Replace(strings.Replace(body, "{", `{"`+field+`":"../../x",`, 1), ",}", "}", 1)
			if w := p.ask(method, p.real(path), sent, "Authorization", token, "If-Match", p.match()); w.Code != http.StatusUnprocessableEntity {
				t.Errorf("%s %s takes %s: %d %.200s", method, path, field, w.Code, w.Body)
			}
		}
	})
	if calls < 200 {
		t.Errorf("only %d calls", calls)
	}
	for _, name := range wayOut {
		for _, path := range []string{"/v1/exports/" + strings.NewReplacer("/", "%2f", `\\`, "%5c").Replace(name) + "/file", "/exports/" + strings.NewReplacer("/", "%2f", `\\`, "%5c").Replace(name) + "/cancel"} {
			if w := p.ask(http.MethodGet, path, "", "Authorization", token); w.Code < http.StatusBadRequest || strings.Contains(w.Body.String(), "root:") {
				t.Errorf("%.80s: %d %.200s", path, w.Code, w.Body)
			}
		}
	}
	made := regexp.MustCompile(`^export-[0-9]+-[a-z2-7]{16}$`)
	folders, err := os.ReadDir(p.app.config.Installed.Exports.Dir)
	p.must(err)
	for _, folder := range folders {
		if !made.MatchString(folder.Name()) {
			t.Errorf("the folder of exports has %q", folder.Name())
		}
	}
	if len(folders) == 0 {
		t.Error("nothing was exported: the test shows nothing")
	}
}

// retitle puts a word before every title that the upstream of a stand answers with from now on.
func (s *stand) retitle(word string) {
	s.Helper()
	src, _, err := s.app.Source(s.Context(), "crossref")
	if err != nil {
		s.Fatal(err)
	}
	behind, err := url.Parse(src.HTTP.BaseURL)
	if err != nil {
		s.Fatal(err)
	}
	between := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(behind)
			r.Out.Header.Set("Accept-Encoding", "identity")
		},
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			body = bytes.ReplaceAll(body, []byte(`"title":["`), []byte(`"title":["`+word))
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", strconv.Itoa(len(body)))
			return err
		},
	}
	server := httptest.NewServer(between)
	s.Cleanup(server.Close)
	src.HTTP.BaseURL = server.URL
	_, err = s.app.store.ApplySource(s.Context(), src, registry.ApplyOptions{})
	if err != nil {
		s.Fatal(err)
	}
}

// TestA26CellsOfAnExportAreNoFormulas exports records whose titles a spreadsheet would run: their
// cells are text, unless who asks wants the cells as they are.
func TestA26CellsOfAnExportAreNoFormulas(t *testing.T) {
	s := newStand(t)
	s.retitle(`=HYPERLINK(\"http://evil.example\")`)
	s.broken.Store(false)
	s.harvest("slicing.step=P1D")
	export := func(raw bool) string {
		t.Helper()
		asked, err := s.app.Exports.Ask(t.Context(), export.Wish{Kind: export.JobData, Source: "crossref", Question: export.Question{Format: export.CSV, Fields: []string{"title"}, RawCells: raw}}, byPerson)
		if err != nil {
			t.Fatal(err)
		}
		if made := s.makeExports(asked.ID); made.Error != "" {
			t.Fatal(made.Error)
		}
		return s.fetch(asked.ID).Body.String()
	}
	const cell = `=HYPERLINK(""http://evil.example"")`
	if text := export(false); !strings.Contains(text, `"'`+cell) || strings.Contains(text, `"`+cell) {
		t.Errorf("the formula is not guarded in %.500s", text)
	}
	if text := export(true); !strings.Contains(text, `"`+cell) {
		t.Errorf("raw cells were asked for, and changed in %.500s", text)
	}
}

// TestR15SecretsAreNamedAndNeverRead reads every route and every page about a source with a secret
// of each kind, all of them agreed to: where it stands, the host it goes to and whether it is there
// are told, no value is, and no command is run to find out.
func TestR15SecretsAreNamedAndNeverRead(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	folder := t.TempDir()
	mark, file := filepath.Join(folder, "was-run"), filepath.Join(folder, "key")
	const inVariable, inFile = "canary-of-a-variable", "canary-of-a-file"
	p.must(os.WriteFile(file, []byte(inFile), 0o600))
	t.Setenv("PATRA_TEST_R15", inVariable)
	command := "touch " + mark
	src, _, err := p.app.Source(t.Context(), "crossref")
	p.must(err)
	src.Credentials = map[string]exchange.Credential{
		"key":  {Type: "BASIC", Username: referenceTo(t, "env:PATRA_TEST_R15"), Password: referenceTo(t, "file:"+file)},
		"told": {Type: "BEARER", Value: referenceTo(t, "exec:"+command)},
		"none": {Type: "BEARER", Value: referenceTo(t, "env:PATRA_TEST_R15_NOT_SET")},
	}
	shown := 0
	hold := func(path, body string) {
		if strings.Contains(body, inVariable) || strings.Contains(body, inFile) {
			t.Errorf("%s tells a secret", path)
		}
		if strings.Contains(body, "touch ") {
			shown++
		}
	}
	token := p.newToken("admin", access.Admin, time.Hour)
	session := p.newSession(token)
	for credential, wanted := range map[string]map[string]string{
		"key":  {"env:PATRA_TEST_R15": view.SecretPresent, "file:" + file: view.SecretPresent},
		"told": {"exec:" + command: view.SecretByExec},
		"none": {"env:PATRA_TEST_R15_NOT_SET": view.SecretAbsent},
	} {
		src.Auth = &exchange.Auth{Credential: credential, Required: new(bool)}
		_, err = p.app.store.ApplySource(t.Context(), src, registry.ApplyOptions{})
		p.must(err)
		agreed := trust.Policy{Commands: []string{command}, Folders: []string{folder}, Secrets: map[string][]trust.Ref{}}
		for _, u := range Uses(src) {
			agreed.Secrets[u.Host] = append(agreed.Secrets[u.Host], u.Ref)
		}
		p.app.config.Installed.Trust, p.app.guard.in.Trust = agreed, agreed
		var told view.List[view.SecretUse]
		status, body := p.call(http.MethodGet, "/v1/sources/crossref/secrets", "", admin)
		if err := json.Unmarshal(body, &told); err != nil || status != http.StatusOK || len(told.Items) != len(wanted) {
			t.Fatalf("%s: %d %v %s", credential, status, err, body)
		}
		for _, one := range told.Items {
			if one.State != wanted[one.Reference] || one.Host == "" || !one.Agreed {
				t.Errorf("%s: %+v, want it %q", credential, one, wanted[one.Reference])
			}
		}
		p.eachRoute(func(method, path string, _ *huma.Operation) {
			if method == http.MethodGet {
				hold(path, p.ask(method, p.real(path), "", "Authorization", token).Body.String())
			}
		})
		for _, path := range p.pagesOf() {
			hold(path, p.ask(http.MethodGet, path, "", "Cookie", session, "Sec-Fetch-Site", "same-origin").Body.String())
		}
	}
	if shown < 2 {
		t.Errorf("the command is named in %d answers: the test shows nothing", shown)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command was run to find out whether a secret is there")
	}
}

// TestA32R10ReplaysAndExportsAreFewAtOnce asks for one replay more than may run at once, and for one
// export more than a token may have waiting: each is refused with what to do, and goes when there is
// room again.
func TestA32R10ReplaysAndExportsAreFewAtOnce(t *testing.T) {
	p := newPrograms(t, "sqlite:"+t.TempDir()+"/patra.db")
	replays := map[string]string{"batch": "/v1/batches/BATCH/replay", "run": "/v1/runs/RUN/replay", "task": "/v1/tasks/DONE/replay"}
	for range mostReplays {
		p.app.replaying <- struct{}{}
	}
	for what, path := range replays {
		if status, body := p.call(http.MethodPost, p.names.Replace(path), "{}", admin); status != http.StatusConflict || !strings.Contains(string(body), "try it in a moment") {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	<-p.app.replaying
	for what, path := range replays {
		if status, body := p.call(http.MethodPost, p.names.Replace(path), "{}", admin); status != http.StatusOK {
			t.Errorf("%s, with room: %d %s", what, status, body)
		}
	}
	ask := func() (int, string) {
		status, body := p.call(http.MethodPost, "/v1/exports", `{"reason":"x","source":"crossref"}`, admin)
		return status, string(body)
	}
	for range export.MostOpenJobs {
		if status, body := ask(); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
	}
	status, body := ask()
	if status != http.StatusConflict || !strings.Contains(body, "wait until one has ended, or cancel one") {
		t.Errorf("one export too many: %d %s", status, body)
	}
	other := admin
	other.TokenID++
	if status, body := p.call(http.MethodPost, "/v1/exports", `{"reason":"x","source":"crossref"}`, other); status != http.StatusOK {
		t.Errorf("another token: %d %s", status, body)
	}
	p.mustCall(http.MethodPost, fmt.Sprintf("/v1/exports/%d/cancel", p.export+1), `{"reason":"x"}`)
	if status, body := ask(); status != http.StatusOK {
		t.Errorf("after one was cancelled: %d %s", status, body)
	}
}

func (p *programs) mustCall(method, path, body string) {
	p.Helper()
	if status, answer := p.call(method, path, body, admin); status != http.StatusOK {
		p.Fatalf("%s: %d %s", path, status, answer)
	}
}
