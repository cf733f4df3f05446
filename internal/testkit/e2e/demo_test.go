package e2e

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demonstration is a demo that serves its dashboard, as a process of its own.
type demonstration struct {
	t              *testing.T
	cmd            *exec.Cmd
	said           *ear
	ended          chan struct{}
	address, token string
}

var (
	openAt    = regexp.MustCompile(`The dashboard is at (http://127\.0\.0\.1:\d+) until Ctrl-C`)
	tokenIn   = regexp.MustCompile(`The access token for it is in (\S+)`)
	formsMark = regexp.MustCompile(`name="mark" value="([0-9a-f]+)"`)
)

// startDemo starts a small demo and waits until its dashboard is open.
func startDemo(t *testing.T) *demonstration {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &demonstration{t: t, said: &ear{news: make(chan struct{})}, ended: make(chan struct{})}
	d.cmd = exec.Command(self, "demo", "--serve", "--per-day", "40", "-q", "--dir", t.TempDir())
	d.cmd.Env = append(os.Environ(), childEnv+"=1")
	d.cmd.Stdout, d.cmd.Stderr = d.said, d.said
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = d.cmd.Wait()
		close(d.ended)
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		<-d.ended
	})
	if !d.said.hears("access token for it is in", 1, d.ended) || !d.said.hears(".token\n", 1, d.ended) {
		t.Fatalf("the demo ended:\n%s", d.said.all())
	}
	d.address = openAt.FindStringSubmatch(d.said.all())[1]
	file := tokenIn.FindStringSubmatch(d.said.all())[1]
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the access token can be read by others: %v, %v", info.Mode(), err)
	}
	d.token = strings.TrimSpace(string(text))
	return d
}

// ask asks for a page, or sends a form, as the first admin.
func (d *demonstration) ask(path string, form url.Values) string {
	d.t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.address+path, strings.NewReader(form.Encode()))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+d.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		d.t.Fatalf("%s %s: %s, %v\n%s", method, path, answer.Status, err, body)
	}
	return string(body)
}

// The dashboard of the demo stands over what was harvested, and what is started there asks
// the simulated source: a count, and a fill of time before the harvest that is then read.
func TestTheDemoServesItsDashboard(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	if page := d.ask("/", nil); !strings.Contains(page, "crossref") {
		t.Errorf("the overview does not know the source of the demo:\n%s", page)
	}
	day := func(back int) string { return time.Now().UTC().AddDate(0, 0, -back).Format(time.DateOnly) }
	stretch := func(act string, from, to int) string {
		return "/coverage/crossref/" + act + "?" + url.Values{"endpoint": {"works"}, "from": {day(from)}, "to": {day(to)}}.Encode()
	}
	if page := d.ask(stretch("count", 4, 3), url.Values{}); !strings.Contains(page, "has no more than was read") {
		t.Errorf("the simulated source was not asked to count:\n%s", page)
	}
	fill := stretch("fill", 20, 19)
	mark := formsMark.FindStringSubmatch(d.ask(fill, nil))
	if mark == nil {
		t.Fatalf("nothing to fill:\n%s", d.ask(fill, nil))
	}
	d.ask(fill, url.Values{"mark": {mark[1]}, "reason": {"try it"}})
	done := regexp.MustCompile(`class="cell back[^>]*href="/coverage/crossref/` + day(20))
	for !done.MatchString(d.ask("/coverage/crossref/"+day(20)[:4], nil)) {
		select {
		case <-d.ended:
			t.Fatalf("the demo ended:\n%s", d.said.all())
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("Ctrl-C ends the demo with %d:\n%s", code, d.said.all())
	}
}
