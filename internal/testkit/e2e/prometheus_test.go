package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/testkit/prometheus"
	"github.com/patra-ingest/patra/internal/upsim"
)

// scraped is a process that serves and shows its metrics.
type scraped struct {
	address string
	said    *ear
	ended   chan struct{}
	cmd     *exec.Cmd
}

var shownAt = regexp.MustCompile(`metrics and health are shown" address=(\S+)`)

// serveMetrics starts a process of its own that serves and can be scraped. It ends with
// the test.
func (w *world) serveMetrics(more ...string) *scraped {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	p := &scraped{said: &ear{news: make(chan struct{})}, ended: make(chan struct{})}
	p.cmd = exec.Command(self, append([]string{"serve", "--log-format", "text", "--listen", "127.0.0.1:0", "--metrics-every", "1s", "--db", w.database}, more...)...)
	p.cmd.Env = append(os.Environ(), childEnv+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	w.t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		<-p.ended
	})
	if !p.said.hears("metrics and health are shown", 1, p.ended) {
		w.t.Fatalf("ended:\n%s", p.said.all())
	}
	p.address = shownAt.FindStringSubmatch(p.said.all())[1]
	return p
}

func (e *ear) all() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.text.String()
}

// C§7: a real Prometheus scrapes two processes of one installation. What it adds up is what
// the database has, its rules can be evaluated, and every query of the dashboard has an
// answer.
func TestPrometheusScrapesTwoProcesses(t *testing.T) {
	onEveryDatabase(t, func(t *testing.T, database string) {
		s := ofKind(t, "token").start(t, database, upsim.Options{})
		s.must(s.planArgs()...)
		tasks, err := s.open().Tasks.List(t.Context(), view.Filter{Limit: 1000})
		if err != nil || len(tasks) == 0 {
			t.Fatalf("%d tasks, %v", len(tasks), err)
		}
		s.faults("slow@*:delay=20ms") // both get some
		one, two := s.serveMetrics("--roles", "executor", "--workers", "1"), s.serveMetrics("--roles", "executor", "--workers", "1")
		p := prometheus.Start(t, []string{one.address, two.address}, []string{"../../../deploy/prometheus/patra.rules.yaml"})
		p.Wait(fmt.Sprintf(`sum(patra_ingest_runs_total{status="SUCCEEDED"}) == %d`, len(tasks)), one.ended)
		p.Wait(`max(patra_ingest_tasks_queued) + max(patra_ingest_executor_concurrency) == 0`, one.ended)
		p.Wait(`min(count_over_time(patra_ingest_runs_total[5m])) >= 2`, one.ended) // so that rates have an answer
		s.sumsAgree(p)
		s.rulesAreHealthy(p)
		s.dashboardAnswers(p)
		for _, process := range []*scraped{one, two} {
			s.metricsAreClean(process)
		}
	})
}

// sumsAgree holds what Prometheus adds up over processes against the database.
func (s *subject) sumsAgree(p *prometheus.Server) {
	s.t.Helper()
	var pages, items int64
	for _, b := range s.batches() {
		pages++
		items += int64(b.Stats.Seen)
	}
	kind, _, _ := strings.Cut(s.database, ":")
	for expression, want := range map[string]string{
		`count(up{job="patra"} == 1)`: "2",
		fmt.Sprintf(`sum(patra_ingest_batches_total{outcome="stored",source="%s",op="HARVEST"})`, s.source): strconv.FormatInt(pages, 10),
		fmt.Sprintf(`sum(patra_ingest_items_total{source="%s"})`, s.source):                                 strconv.FormatInt(items, 10),
		`count(max by (source, endpoint, ns) (patra_ingest_cursor_lag_seconds{op="HARVEST"}) > 0)`:          "1",
		`max(patra_ingest_processes{role="executor"})`:                                                      "2",
		`count(patra_ingest_build_info{database="` + kind + `"})`:                                           "2",
		`count(count by (code, severity) (patra_ingest_findings{severity="CRITICAL"})) or vector(0)`:        "0",
	} {
		got, err := p.Query(expression)
		if err != nil || len(got) != 1 || got[0].Value != want {
			s.t.Errorf("%s is %v, want %s, %v", expression, got, want, err)
		}
	}
}

// rulesAreHealthy waits until each rule was evaluated, and none failed.
func (s *subject) rulesAreHealthy(p *prometheus.Server) {
	s.t.Helper()
	for again := time.NewTicker(50 * time.Millisecond); ; <-again.C {
		var answer struct {
			Data struct {
				Groups []struct {
					Rules []struct{ Name, Health, LastError string }
				}
			}
		}
		if err := p.Get("rules", &answer); err != nil {
			s.t.Fatal(err)
		}
		known := 0
		for _, g := range answer.Data.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					s.t.Fatalf("%s: %s", r.Name, r.LastError)
				}
				if r.Health == "ok" {
					known++
				}
			}
		}
		if known >= 21 {
			return
		}
	}
}

// empty are panels that have nothing to show where nothing went wrong, no quota is set and
// no event is sent.
var empty = []string{
	"Backfill ahead", "Share of 429", "Tried again", "Self-healing", "Quota left", "Breakers that are open, requests put off", "Age of the oldest event", "Events that are not delivered", "Findings by code", "Kept bodies of answers",
}

// dashboardAnswers asks Prometheus every query of the dashboard.
func (s *subject) dashboardAnswers(p *prometheus.Server) {
	s.t.Helper()
	text, err := os.ReadFile("../../../deploy/grafana/patra.json")
	if err != nil {
		s.t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		s.t.Fatal(err)
	}
	asked := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			asked++
			expression := strings.NewReplacer("$source", s.source, "$__rate_interval", "5m").Replace(target.Expr)
			got, err := p.Query(expression)
			if err != nil {
				s.t.Errorf("%s: %v", panel.Title, err)
			}
			if len(got) == 0 && !slices.Contains(empty, panel.Title) {
				s.t.Errorf("%s: %s has no answer", panel.Title, expression)
			}
		}
	}
	if asked < 30 {
		s.t.Errorf("the dashboard has %d queries", asked)
	}
}

// metricsAreClean lets promtool judge what a process shows.
func (s *subject) metricsAreClean(p *scraped) {
	s.t.Helper()
	answer, err := http.Get("http://" + p.address + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if said := prometheus.Tool(s.t, string(text), "check", "metrics"); strings.TrimSpace(said) != "" {
		s.t.Error(said)
	}
}
