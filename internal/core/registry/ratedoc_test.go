package registry

import "testing"

// Every example of docs/rate.md is a source that passes all checks.
func TestRateExamples(t *testing.T) {
	examples(t, "rate.md", 2, "filter: {field: updated}\n")
}
