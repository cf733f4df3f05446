package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/testkit/prometheus"
)

const deployed = "../../../deploy/prometheus/"

// The rules are tried by the program that will follow them.
func TestRulesWithPromtool(t *testing.T) {
	prometheus.Tool(t, "", "check", "rules", deployed+"patra.rules.yaml")
	tests, err := filepath.Glob(deployed + "*_test.yaml")
	if err != nil || len(tests) == 0 {
		t.Fatal(tests, err)
	}
	prometheus.Tool(t, "", append([]string{"test", "rules"}, tests...)...)
}

var (
	declaredAlert = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	triedAlert    = regexp.MustCompile(`(?m)^ +alertname: (\w+)\n +exp_alerts:(.*)$`)
)

// Each alert is seen to come and not to come: one that never comes looks like peace.
func TestEveryRuleIsTriedBothWays(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(deployed + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	comes, not := []string{}, []string{}
	for _, m := range triedAlert.FindAllStringSubmatch(read("patra.rules_test.yaml"), -1) {
		if strings.TrimSpace(m[2]) == "[]" {
			not = append(not, m[1])
		} else {
			comes = append(comes, m[1])
		}
	}
	alerts := declaredAlert.FindAllStringSubmatch(read("patra.rules.yaml"), -1)
	if len(alerts) < 11 {
		t.Errorf("%d alerts", len(alerts))
	}
	for _, a := range alerts {
		if !slices.Contains(comes, a[1]) || !slices.Contains(not, a[1]) {
			t.Errorf("%s is not tried both ways in patra.rules_test.yaml", a[1])
		}
	}
}

// The program of Prometheus finds nothing to complain of in our metrics.
func TestPromtoolChecksMetrics(t *testing.T) {
	m := NewMeter()
	work(m, partitionNo(0))
	m.Show(world(time.Now()), time.Now())
	text := textOf(t, m)
	if said := prometheus.Tool(t, text, "check", "metrics"); strings.TrimSpace(said) != "" {
		t.Error(said)
	}
	if said, err := prometheus.TryTool(t, strings.ReplaceAll(text, "patra_ingest_tasks_queued", "patra_ingest_tasks_queued_total"), "check", "metrics"); err == nil {
		t.Errorf("promtool complains of nothing: %s", said)
	}
}
