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
	file := filepath.Join(d.t.TempDir(), "first.token")
	said := d.serve("the HTTP interface answers", "--roles", roles, "--listen", "127.0.0.1:0", "--token-file", file)
	d.address = answersAt.FindStringSubmatch(said)[1]
	text, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	d.token = strings.TrimSpace(string(text))
}

// serve starts a process that serves until the test ends, and returns what it said until it
// was ready.
func (d *dashed) serve(ready string, flags ...string) string {
	d.t.Helper()
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	said, ended := &ear{news: make(chan struct{})}, make(chan struct{})
	cmd := exec.Command(self, append([]string{"serve", "--log-format", "text", "--db", d.database}, flags...)...)
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
	if !said.hears(ready, 1, ended) {
		d.t.Fatalf("ended:\n%s", said.all())
	}
	return said.all()
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

// One person, one window, from the failure that is seen to the gap that is closed.
func TestAPersonAtTheDashboard(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		d := startDashboard(t, database, "api")
		b := d.logIn(t)
		d.followFailure(b)
		d.watchOthers(b)
		d.fillAndWatch(b)
	})
}

// followFailure sees on the overview that a source has gaps, finds them on its map, and follows
// the error to what the upstream answered.
func (d *dashed) followFailure(b *browser.Browser) {
	d.t.Helper()
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

// watchOthers looks at the overview, sees what somebody else does, and goes on typing.
func (d *dashed) watchOthers(b *browser.Browser) {
	d.t.Helper()
	b.Follow("nav a[href='/']")
	b.Await("#asof[data-live=on]")
	b.Type("#filter", d.source)
	if at := b.Value("location.search"); at != "?q="+d.source {
		d.t.Errorf("what is typed does not stand in the address, so that nobody can share it: %s", at)
	}
	b.Value("window.same = document.querySelector('#sources tbody tr')")
	const paused = "document.querySelector('#findings .needs')?.innerText.includes('paused')"
	if b.Value(paused) == "true" {
		d.t.Fatal("it is paused already")
	}
	d.must("source", "pause", d.source, "--reason", "their maintenance", "--db", d.database)
	b.AwaitChange(paused)
	b.Shoot("paused")
	d.must("source", "resume", d.source, "--reason", "it is over", "--db", d.database)
	b.AwaitChange("!" + paused)
	if b.Value("window.same === document.querySelector('#sources tbody tr') && document.activeElement.value") != d.source {
		d.t.Error("the page was loaded again, or what was typed is gone")
	}
}

// fillAndWatch fills a gap from the map: seen, previewed, asked for with a reason, and watched as
// it turns green when another process reads it. The page is not loaded again, and what the person
// does there stays: the focus, what was typed and how far it was scrolled.
func (d *dashed) fillAndWatch(b *browser.Browser) {
	d.t.Helper()
	d.faults("") // their outage is over
	b.Visit("/coverage/" + d.source + "/" + badDay)
	b.Shoot("gap")
	b.Follow("#stretch a.main")
	b.Has("#content", "HARVEST", "1 slice")
	b.Shoot("preview")
	confirm(b, "their outage is over")
	b.Has("[role=status]", "It is planned")
	b.Await("#asof[data-live=on]")
	cell := "document.querySelector(`#year a.cell[href*='" + badDay + "']`)"
	if class := b.Value(cell + ".className"); class == "cell done" {
		d.t.Fatalf("it was read before anybody worked: %s", class)
	}
	b.Type("#from", "2019")
	b.Resize(900, 500)
	b.Value("(window.same = " + cell + ", window.same.focus(), scrollTo(0, 300))")
	b.Shoot("planned")
	d.serve("executor", "--roles", "executor")
	b.AwaitChange("(" + cell + ").className === 'cell done'")
	for what, holds := range map[string]string{
		"it was loaded again":    "window.same === " + cell,
		"the focus was lost":     "document.activeElement === window.same",
		"what was typed is gone": "document.querySelector('#from').value.startsWith('2019')",
		"it jumped to its top":   "scrollY > 200",
	} {
		if b.Value(holds) != "true" {
			d.t.Error(what)
		}
	}
	b.Shoot("filled")
}
