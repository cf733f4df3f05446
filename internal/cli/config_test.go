package cli

import (
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/config"
)

// The schema of patra.yaml is printed without a database, and byte for byte.
func TestConfigSchema(t *testing.T) {
	d := emptyDesk(t)
	if got := d.expect(term.ExitOK, "config", "schema").out; got != string(config.Schema()) {
		t.Error(got)
	}
	d.noFile()
}
