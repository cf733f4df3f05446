// Package simulated joins the upstream simulator with the bundled source that
// reads it, for tests that ask an upstream without a database.
//
// It is for tests only, and decides nothing: what a test wants to see it asks of
// the real code.
package simulated

import (
	"testing"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/upsim"
)

// Crossref starts a server over the data and compiles the bundled source for it,
// without its limits of rate and with short waits. Faults are a script of the
// simulator, empty for none.
func Crossref(t *testing.T, data *upsim.Dataset, faults string, settings ...string) (*upsim.Server, *spec.Compiled) {
	t.Helper()
	server := startServer(t, data, upsim.Options{}, faults)
	text, err := catalog.Read("crossref")
	if err != nil {
		t.Fatal(err)
	}
	src, _, err := registry.Decode(catalog.File("crossref"), text)
	if err != nil {
		t.Fatal(err)
	}
	return server, compileSource(t, src, "works", append([]string{
		"http.baseUrl=" + server.URL(), "http.allowPrivate=true", "rate.perSecond=5000", "rate.burst=50", "rate.concurrency=8", "rate.obeyHeaders=false",
		"retry.initialDelay=PT0.001S", "retry.maxDelay=PT0.002S",
	}, settings...))
}

// startServer serves the data until the test ends. Faults are a script, empty for none.
func startServer(t *testing.T, data *upsim.Dataset, options upsim.Options, faults string) *upsim.Server {
	t.Helper()
	list, err := upsim.ParseFaults(faults)
	if err != nil {
		t.Fatal(err)
	}
	options.Faults = append(options.Faults[:len(options.Faults):len(options.Faults)], list...)
	server, err := upsim.NewServer(data, options)
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

func compileSource(t *testing.T, src *registry.Source, endpoint string, settings []string) *spec.Compiled {
	t.Helper()
	var set []registry.Override
	for _, setting := range settings {
		o, err := registry.ParseOverride(setting)
		if err != nil {
			t.Fatal(err)
		}
		set = append(set, o)
	}
	resolved, err := registry.Resolve(src, endpoint, "HARVEST", set)
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Compile(resolved)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
