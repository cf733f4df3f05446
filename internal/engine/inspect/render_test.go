package inspect

import (
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Files that a source names are asked for by their addresses, and that is what is shown.
func TestTheRequestOfAFileIsItsAddress(t *testing.T) {
	src, _, err := registry.Decode("dump.yaml", []byte(`source: dump
name: Dump
http: {baseUrl: "https://files.example.org/dump"}
endpoints:
  works:
    role: FILE
    files: {addresses: [all.jsonl.gz], every: P1D, packed: GZIP}
    response: {format: JSONL, items: $, id: $.id, updatedAt: $.changed}
`))
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := registry.Resolve(src, "works", string(ingest.Harvest), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Compile(resolved)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)
	out, err := RenderRequest(c.Snapshot, window.Window{From: now.Add(-time.Hour), To: now}, nil, paging.State{}, now)
	if err != nil || out.Method != "GET" || out.URL != "https://files.example.org/dump/all.jsonl.gz" {
		t.Errorf("%s %s, %v", out.Method, out.URL, err)
	}
}
