package cli

import (
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/daemon"
	"github.com/patra-ingest/patra/internal/testkit/localstore"
)

// listener is a log that somebody waits for.
type listener struct {
	mu    sync.Mutex
	text  strings.Builder
	heard chan struct{}
}

func newListener() *listener { return &listener{heard: make(chan struct{})} }

func (l *listener) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.heard)
	l.heard = make(chan struct{})
	return l.text.Write(line)
}

func (l *listener) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait blocks until a text was written n times, or the writer has ended.
func (l *listener) wait(text string, n int, ended <-chan struct{}) bool {
	for {
		l.mu.Lock()
		reached, heard := strings.Count(l.text.String(), text) >= n, l.heard
		l.mu.Unlock()
		if reached {
			return true
		}
		select {
		case <-heard:
		case <-ended:
			return false
		}
	}
}

// scheduled is a simulated source with a tick every second, applied.
func (d *desk) scheduled() {
	d.Helper()
	server, err := startUpstream("")
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { server.Close() })
	d.rows(d.crossrefFile("scheduled.yaml", "baseUrl: https://api.crossref.org", "baseUrl: "+server.URL()+"\n  allowPrivate: true",
		"perSecond: 3", "perSecond: 1000", "endpoints:\n", "schedule: {every: PT1S}\n\nendpoints:\n"))
}

// A tick waits for the plan before it, so the second plan shows that the first
// one was worked on to its end.
func TestServe(t *testing.T) {
	d := newDesk(t)
	d.scheduled()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	log, ended, code := newListener(), make(chan struct{}), 0
	go func() {
		defer close(ended)
		code = Main(ctx, []string{"serve", "--log-format", "text", "--db", "sqlite:" + d.file}, io.Discard, log)
	}()
	if !log.wait("msg=planned schedule=crossref/works/HARVEST", 2, ended) {
		t.Fatalf("exit code %d\n%s", code, log.all())
	}
	stop()
	<-ended
	if code != term.ExitInterrupted {
		t.Errorf("exit code %d\n%s", code, log.all())
	}
	d.holds(log.all(), "msg=serving roles=executor,planner", `msg=following schedule=crossref/works/HARVEST when="every PT1S" next=`, "msg=stopped")
	app, err := daemon.Open(t.Context(), daemon.Config{Database: "sqlite:" + d.file})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close()
	plans, err := app.Plans.List(t.Context(), view.Filter{Limit: 100})
	if err != nil || len(plans) < 2 {
		t.Fatalf("%d plans, %v", len(plans), err)
	}
	if first := plans[len(plans)-1]; first.Status != "COMPLETED" || first.Window == nil {
		t.Errorf("%+v", first)
	}
	db := localstore.Beside(t, "sqlite:"+d.file)
	if _, held, err := db.AcquireLease(t.Context(), "planner", "test", 1); err != nil || !held {
		t.Errorf("the lease was not given back: %v", err)
	}
	if left, err := db.Executors(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("%+v, %v", left, err)
	}
}

// childEnv makes the next test behave as the program itself.
const childEnv = "PATRA_CLI_CHILD"

// SIGTERM is how services are stopped and is no failure; Ctrl-C is as everywhere.
func TestServeStopsOnSignals(t *testing.T) {
	if os.Getenv(childEnv) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(Main(ctx, []string{"serve", "--db", os.Getenv(childEnv)}, os.Stdout, os.Stderr))
	}
	for sent, want := range map[os.Signal]int{syscall.SIGTERM: term.ExitOK, os.Interrupt: term.ExitInterrupted} {
		t.Run(sent.String(), func(t *testing.T) {
			d := newDesk(t)
			d.empty()
			cmd := exec.Command(os.Args[0], "-test.run=^TestServeStopsOnSignals$")
			cmd.Env = append(os.Environ(), childEnv+"=sqlite:"+d.file)
			log, ended := newListener(), make(chan struct{})
			cmd.Stderr = log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			go func() {
				defer close(ended)
				_ = cmd.Wait()
			}()
			if !log.wait("no source that was applied has an enabled schedule", 1, ended) {
				t.Fatalf("ended too early\n%s", log.all())
			}
			if err := cmd.Process.Signal(sent); err != nil {
				t.Fatal(err)
			}
			<-ended
			if code := cmd.ProcessState.ExitCode(); code != want {
				t.Errorf("exit code %d, want %d\n%s", code, want, log.all())
			}
		})
	}
}

func TestServeRefuses(t *testing.T) {
	d := emptyDesk(t)
	for text, args := range map[string][]string{
		"say who gets events":            {"--roles", "relay"},
		"unknown role":                   {"--roles", "plannr"},
		"--workers must be":              {"--workers", "0"},
		"unknown command":                {"now"},
		"so it needs TLS":                {"--roles", "api", "--listen", "0.0.0.0:8750"},
		"the names it answers to":        {"--roles", "api", "--listen", ":8750", "--behind-proxy", "10.0.0.5"},
		"leave out --anonymous":          {"--roles", "api", "--listen", "192.0.2.1:8750", "--anonymous", "viewer"},
		"can be viewer at most":          {"--roles", "api", "--anonymous", "operator"},
		"expected an address or a range": {"--roles", "api", "--behind-proxy", "proxy"},
		"is called --metrics-token":      {"--roles", "api", "--listen-token", "env:TOKEN"},
		"is about the HTTP interface":    {"--host", "patra.example.org"},
		"mean the same without":          {"--listen", "127.0.0.1:1", "--metrics-listen", "127.0.0.1:2"},
		"a certificate needs its key":    {"--roles", "api", "--listen-cert", "/nowhere"},
	} {
		d.holds(d.expect(term.ExitUsage, append([]string{"serve"}, args...)...).err, text)
	}
	d.noFile()
}
