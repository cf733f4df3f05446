package spec

import (
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/core/registry"
)

// unsaid is a bundled file that says nothing about its total.
func unsaid(t *testing.T) string {
	t.Helper()
	return strings.Replace(bundled(t, "crossref"), "      expectTotal: true\n", "", 1)
}

// A declared total is expected, a file may call it an estimate, and where there is
// none nothing is expected.
func TestBelieve04DeclaredTotalIsExpected(t *testing.T) {
	plain := compile(t, decoded(t, unsaid(t)))
	if !plain.Snapshot.Paging.Expects() || !strings.Contains(string(plain.Canonical), `"expectTotal":true`) {
		t.Error("a declared total is not expected")
	}
	if said := compile(t, decoded(t, bundled(t, "crossref"))); said.Fingerprint != plain.Fingerprint {
		t.Error("what is the default and what is said differ")
	}
	estimate := compile(t, decoded(t, unsaid(t)), "paging.expectTotal=false")
	if estimate.Snapshot.Paging.Expects() || !slices.Contains(codes(estimate), "W-TOTAL-ESTIMATE") {
		t.Errorf("%q", codes(estimate))
	}
	none := strings.Replace(unsaid(t), "      total: $.message['total-results']\n", "", 1)
	if c := compile(t, decoded(t, none)); c.Snapshot.Paging.ExpectTotal != nil {
		t.Error("nothing is announced, and something is expected")
	}
	resolved, err := registry.Resolve(decoded(t, unsaid(t)), "works", "HARVEST", nil)
	if err != nil {
		t.Fatal(err)
	}
	if origin := resolved.Origin("paging.expectTotal"); origin != "platform" {
		t.Errorf("it comes from %s", origin)
	}
}

// I10: what was planned before this default existed does what it did.
func TestBelieve04StoredSnapshotsStayWhatTheyWere(t *testing.T) {
	now := string(compile(t, decoded(t, unsaid(t))).Canonical)
	before := strings.Replace(now, `"expectTotal":true,`, "", 1)
	if before == now {
		t.Fatal("the snapshot does not say it")
	}
	s, err := Load([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	if s.Paging.Expects() || s.Paging.ExpectTotal != nil {
		t.Error("a plan that is stored expects what it did not")
	}
	c, err := s.Compiled()
	if err != nil || string(c.Canonical) != before {
		t.Errorf("a stored snapshot changes when it is read: %v", err)
	}
	if s, err = Load([]byte(now)); err != nil || !s.Paging.Expects() {
		t.Errorf("%v", err)
	}
}
