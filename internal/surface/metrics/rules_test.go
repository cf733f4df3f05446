package metrics

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var named = regexp.MustCompile(`patra_ingest_[a-z0-9_]+`)

// What the rules of Prometheus and the example alerts ask for exists.
func TestRulesAskForMetricsThatExist(t *testing.T) {
	for _, path := range []string{"../../../deploy/prometheus/patra.rules.yaml", "../../../docs/metrics.md", "../../../deploy/prometheus/patra.rules_test.yaml", "../../../deploy/grafana/patra.json"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllString(string(text), -1)
		if len(found) < 10 {
			t.Errorf("%s names %d metrics", path, len(found))
		}
		for _, name := range found {
			base := strings.TrimSuffix(name, "_bucket")
			if !slices.ContainsFunc(allDefinitions(), func(d Definition) bool { return d.Name == base && (name == base || d.Kind == Histogram) }) {
				t.Errorf("%s: there is no %s", path, name)
			}
		}
	}
}
