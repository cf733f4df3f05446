package work

import (
	"bytes"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
)

func TestServeLog(t *testing.T) {
	var out bytes.Buffer
	e := &term.Env{Err: &out, Quiet: true}
	serveLog(e).Info("busy")
	serveLog(e).Warn("trouble")
	if text := out.String(); strings.Contains(text, "busy") || !strings.Contains(text, "trouble") {
		t.Error(text)
	}
}
