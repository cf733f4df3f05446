package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/testkit/simulated"
	"github.com/patra-ingest/patra/internal/upsim"
)

// twoPhase serves the same works at two addresses and writes a two-phase source
// that declares the first of them.
func (d *desk) twoPhase() (file string, declared, other *upsim.Server) {
	d.Helper()
	serve := func() *upsim.Server {
		server, err := startUpstream("")
		if err != nil {
			d.Fatal(err)
		}
		d.Cleanup(func() { server.Close() })
		return server
	}
	declared, other = serve(), serve()
	for _, form := range simulated.PagingForms() {
		if form.Name == "search" {
			return d.write("search.yaml", form.YAML(declared.URL())), declared, other
		}
	}
	d.Fatal("there is no form with two phases")
	return "", nil, nil
}

// What is set for a run about the upstream holds for both steps: the details of
// a search come from where the search went.
func TestSetReachesTheDetails(t *testing.T) {
	d := newDesk(t)
	file, declared, other := d.twoPhase()
	d.expect(term.ExitOK, "source", "apply", file)
	d.expect(term.ExitOK, "harvest", "form-search", "--from", "2025-03-01", "--to", "2025-03-02", "--set", "http.baseUrl="+other.URL())
	if declared.Requests() != 0 {
		t.Errorf("%d requests went to the declared host, the first for %s", declared.Requests(), declared.Log()[0].Path)
	}
	d.holds(d.expect(term.ExitOK, "run", "list").out, "SUCCEEDED")
}

// A run may be more polite at both steps, and at neither less polite.
func TestSetDoesNotRaiseTheRateOfTheDetails(t *testing.T) {
	d := newDesk(t)
	file, _, _ := d.twoPhase()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	slower := d.write("slower.yaml", strings.Replace(string(text), "role: DETAIL\n", "role: DETAIL\n    rate: {perSecond: 2, burst: 1}\n", 1))
	r := d.expect(term.ExitUsage, "source", "explain", slower, "--set", "rate.perSecond=3")
	d.holds(r.err, "E-RATE-RAISED", "endpoint records", "3 is more than the 2")
	d.expect(term.ExitOK, "source", "explain", slower, "--set", "rate.perSecond=2")
}
