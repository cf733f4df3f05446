package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/testkit/browser"
	"github.com/patra-ingest/patra/internal/upsim"
)

// dashed is a subject with days that failed, and a process that serves its dashboard.
type dashed struct {
	*subject
	address string
	token   string
}

var answersAt = regexp.MustCompile(`the HTTP interface answers" address=(\S+)`)

// startDashboard harvests a week of which days fail, and starts a process that shows it.
func startDashboard(t *testing.T, database, roles string) *dashed {
	t.Helper()
	d := &dashed{}
	d.subject = ofKind(t, "token").start(t, database, upsim.Options{Faults: []upsim.Fault{{
		Kind: upsim.FaultHTML200, When: func(h upsim.Hit) bool { return strings.Contains(h.Query.Encode(), badDay) },
	}}})
	d.settings = append(d.settings, "slicing.step=P1D")
	code, out, errText := d.patra(d.args("--set", "retry.maxAttempts=1", "--set", "retry.taskAttempts=1")...)
	if code == 0 {
		t.Fatalf("no day failed:\n%s%s", out, errText)
	}
	d.serveDashboard(roles)
	return d
}

func (d *dashed) serveDashboard(roles string) {
	d.t.Helper()
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	file := filepath.Join(d.t.TempDir(), "first.token")
	said, ended := &ear{news: make(chan struct{})}, make(chan struct{})
	cmd := exec.Command(self, "serve", "--log-format", "text", "--roles", roles, "--listen", "127.0.0.1:0", "--token-file", file, "--db", d.database)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	d.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	if !said.hears("the HTTP interface answers", 1, ended) {
		d.t.Fatalf("ended:\n%s", said.all())
	}
	d.address = answersAt.FindStringSubmatch(said.all())[1]
	text, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	d.token = strings.TrimSpace(string(text))
}

// logIn opens a browser and logs in with the first access token.
func (d *dashed) logIn(t *testing.T) *browser.Browser {
	t.Helper()
	b := browser.Open(t, d.address)
	d.enter(b)
	return b
}

func (d *dashed) enter(b *browser.Browser) {
	b.Visit("/login")
	b.Shoot("login")
	b.Type("#token", d.token)
	b.Follow("button")
	b.Await("#content")
}

// A person sees on the overview that a source has gaps, finds them on its map, and follows
// the error to what the upstream answered.
func TestAPersonFollowsAFailureToItsEvidence(t *testing.T) {
	d := startDashboard(t, databases["sqlite"](t), "api")
	b := d.logIn(t)
	b.Has("#content", d.source)
	b.Shoot("overview")
	b.Follow("#sources a.bad")
	b.Has(".troubles", "failed", badDay)
	b.Shoot("coverage")
	b.Follow("nav a[href='/errors']")
	b.Has("#content", "BAD_BODY")
	b.Follow("td[data-name=Sample] a")
	b.Has("#evidence", "HTTP 200", "text/html")
	b.Shoot("evidence")
}

// A gap is filled from the map: seen, previewed, asked for with a reason, and read by the
// process that shows it.
func TestAPersonFillsAGapFromTheMap(t *testing.T) {
	d := startDashboard(t, databases["sqlite"](t), "executor,api")
	d.faults("") // their outage is over
	b := d.logIn(t)
	b.Visit("/coverage/" + d.source + "/" + badDay)
	b.Shoot("gap")
	b.Follow("#stretch a.main")
	b.Has("#content", "HARVEST", "1 slice")
	b.Shoot("preview")
	b.Type("#reason", "their outage is over")
	b.Follow("form.row button.main")
	b.Has("[role=status]", "It is planned")
	for !strings.Contains(b.Value("document.body.innerHTML"), `class="cell done" href="/coverage/`+d.source+"/"+badDay) {
		b.Visit("/coverage/" + d.source + "/2025")
	}
	b.Shoot("filled")
}

// Every page of the dashboard can be looked at in a browser: in the light, in the dark, on a
// phone, and with JavaScript forbidden.
func TestPagesInABrowser(t *testing.T) {
	d := startDashboard(t, databases["sqlite"](t), "api")
	pages := map[string]string{"overview": "/", "coverage": "/coverage", "year": "/coverage/" + d.source + "/2025", "day": "/coverage/" + d.source + "/" + badDay, "plans": "/plans", "plan": "/plans/1", "rate": "/rate", "cursors": "/cursors", "errors": "/errors"}
	const colour = "getComputedStyle(document.body).backgroundColor"
	look := func(b *browser.Browser, kind string) {
		for name, path := range pages {
			b.Visit(path)
			b.Await("#content h1")
			if wide := b.Value("document.documentElement.scrollWidth > innerWidth"); wide != "false" {
				t.Errorf("%s, %s: the page is wider than the window", kind, path)
			}
			b.Shoot(kind + "-" + name)
		}
	}
	t.Run("with script", func(t *testing.T) {
		b := d.logIn(t)
		look(b, "light")
		light := b.Value(colour)
		b.Press("#theme")
		dark := b.Value(colour)
		b.Visit("/")
		if dark == light || b.Value(colour) != dark {
			t.Errorf("light is %s, dark %s, and the next page %s", light, dark, b.Value(colour))
		}
		look(b, "dark")
		b.Resize(390, 844)
		look(b, "phone")
	})
	t.Run("without script", func(t *testing.T) {
		b := browser.Open(t, d.address)
		b.ForbidScript()
		d.enter(b)
		if b.Value("!!document.querySelector('.tip')") != "false" {
			t.Error("the script of the page ran")
		}
		look(b, "plain")
		light := b.Value(colour)
		b.Follow("#theme")
		if dark := b.Value(colour); dark == light {
			t.Errorf("light and dark are %s", dark)
		}
	})
}
