package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/patra-ingest/patra/internal/cli/term"
	"github.com/patra-ingest/patra/internal/core/view"
)

// explained reads a configuration.
func (d *desk) explained(args ...string) (c view.SourceSettings) {
	d.Helper()
	d.decode(d.expect(term.ExitOK, append([]string{"source", "explain", "-o", "json"}, args...)...).out, &c)
	return c
}

// Every level of D§5.18 can be the one that decided, and says so.
func TestExplainNamesEveryLevel(t *testing.T) {
	d := newDesk(t)
	file := d.crossrefFile("layers.yaml", "    operations:\n", "    operations:\n      HARVEST:\n        slicing:\n          step: P2D\n")
	c := d.explained(file, "--set", "rate.perSecond=1.5")
	for path, want := range map[string][2]string{
		"window.maxWindow": {"platform", "P30D"}, "http.baseUrl": {"provenance", "https://api.crossref.org"}, "request.path": {"endpoint", "/works"},
		"paging.size": {"section", "500"}, "slicing.step": {"operation", "P2D"}, "rate.perSecond": {"override", "1.5"},
	} {
		got := c.At(path)
		if got.From != want[0] || got.Value != want[1] {
			t.Errorf("%s: %+v, want %v", path, got, want)
		}
		if inFile := got.From != "platform" && got.From != "override"; strings.HasPrefix(got.At, file+":") != inFile {
			t.Errorf("%s stands at %q", path, got.At)
		}
	}
	if back := d.explained(file, "--op", "BACKFILL"); back.At("slicing.step").Value != "P1D" || back.Operation != "BACKFILL" {
		t.Errorf("%+v", back.At("slicing.step"))
	}
	text := d.expect(term.ExitOK, "source", "explain", "crossref", "--set", "rate.perSecond=1.5").out
	d.holds(text, "PATH", "override", "platform", "section (crossref.yaml:", "provenance (crossref.yaml:")
	d.fits(text)
}

func TestExplainTellsIdentities(t *testing.T) {
	d := newDesk(t)
	plain, slow := d.explained("crossref"), d.explained("crossref/works", "--set", "rate.perSecond=1")
	narrow := d.explained("crossref", "--set", `query.where=oneOf(type, "book")`)
	if plain.Source != "crossref" || plain.Name != "Crossref" || plain.Origin != "bundled" || plain.Endpoint != "works" || plain.Operation != "HARVEST" || plain.Warnings == nil {
		t.Errorf("%+v", plain)
	}
	if len(plain.Fingerprint) != 64 || plain.Fingerprint == slow.Fingerprint || plain.Prototype != slow.Prototype {
		t.Errorf("a slower run asks for the same thing: %s %s", plain.Prototype, slow.Prototype)
	}
	if narrow.Prototype == plain.Prototype || narrow.Selection == plain.Selection || narrow.Expression == "" || plain.Expression != "" {
		t.Errorf("%+v", narrow)
	}
	d.holds(d.expect(term.ExitOK, "source", "explain", "crossref").err, "crossref works HARVEST (bundled), fingerprint "+plain.Fingerprint, "asks for everything, prototype "+plain.Prototype)
	d.holds(d.expect(term.ExitOK, "source", "explain", "pubmed").err, "warning: W-ANONYMOUS: ")
	if d.expect(term.ExitOK, "source", "explain", "pubmed", "-q").err != "" {
		t.Error("-q is not silent")
	}
}

func TestExplainBelow(t *testing.T) {
	d := newDesk(t)
	all, part := d.explained("crossref"), d.explained("crossref", "window")
	if len(part.Settings) == 0 || len(part.Settings) >= len(all.Settings) || slices.ContainsFunc(part.Settings, func(s view.Setting) bool { return !strings.HasPrefix(s.Path, "window.") }) {
		t.Errorf("%+v", part.Settings)
	}
	if one := d.explained("crossref", "window.size"); len(one.Settings) != 1 || one.Settings[0].Value != "P1D" {
		t.Errorf("%+v", one.Settings)
	}
	d.holds(d.expect(term.ExitNotFound, "source", "explain", "crossref", "wind").err, `nothing is set at "wind"`)
}

func TestExplainRefuses(t *testing.T) {
	d := newDesk(t)
	for text, args := range map[string][]string{
		"METRICS":        {"crossref", "--op", "METRICS"},
		"rate.perSecnd":  {"crossref", "--set", "rate.perSecnd=1"},
		"no =":           {"crossref", "--set", "rate.perSecond"},
		"journals":       {"crossref", "--endpoint", "journals"},
		"jitter":         {"crossref", "--set", "retry.jitter=3"},
		"E-RATE-RAISED":  {"crossref", "--set", "rate.perSecond=30"},
		"two endpoints":  {"crossref/works", "--endpoint", "journals"},
		"E-OPERATION":    {"pubmed/efetch", "--op", "HARVEST"},
		"E-SHARE":        {"crossref", "--set", "response.maxRejectRate=7"},
		"accepts betwee": {"crossref", "window", "size"},
	} {
		d.holds(d.expect(term.ExitUsage, append([]string{"source", "explain"}, args...)...).err, text)
	}
	d.holds(d.expect(term.ExitUsage, "source", "explain", "biorxiv").err, "medrxiv", "--endpoint")
}
