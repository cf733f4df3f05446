package outline_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// definition is a source that is compiled each time.
func definition(t interface{ Fatal(...any) }, file, text string) outline.Definition {
	src, _, err := registry.Decode(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	resolve := func(endpoint string, op ingest.Operation) (*registry.Resolved, error) {
		return registry.Resolve(src, endpoint, string(op), nil)
	}
	return outline.Definition{Source: src, Resolve: resolve, Compile: func(endpoint string, op ingest.Operation) (*spec.Compiled, error) {
		r, err := resolve(endpoint, op)
		if err != nil {
			return nil, err
		}
		return spec.Compile(r)
	}}
}

// anySource is a bundled source with settings that an outline has to keep.
func anySource(t *rapid.T) outline.Definition {
	code := rapid.SampledFrom(catalog.List()).Draw(t, "source")
	text, err := catalog.Read(code)
	if err != nil {
		t.Fatal(err)
	}
	changed := string(text)
	for _, section := range []struct{ name, body string }{
		{"alerts", rapid.SampledFrom([]string{"", "{maxLag: PT0S}", "{maxLag: P2D, thinShare: 0.4}", "{quarantineGrowth: 7, errorShare: 0}"}).Draw(t, "alerts")},
		{"schedule", rapid.SampledFrom([]string{"", "{cron: '0 3 * * *', zone: Europe/Vienna}", "{every: PT10M, jitter: PT1M}", "{cron: '5 4 * * 1', enabled: false}"}).Draw(t, "schedule")},
	} {
		if section.body != "" && !strings.Contains(changed, "\n"+section.name+":") {
			changed += "\n" + section.name + ": " + section.body + "\n"
		}
	}
	return definition(t, catalog.File(code), changed)
}

// What is read of a kept outline is what compiling gives.
func TestKeptOutlineIsWhatCompilingGives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anySource(t)
		made, err := outline.Of(d)
		if err != nil {
			t.Skip("not harvested: ", err)
		}
		at := registry.Stamp{Version: rapid.Int64Range(1, 99).Draw(t, "version")}
		if rapid.Bool().Draw(t, "scheduled") {
			at.Until = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		}
		kept, err := outline.Keep(d.Code, at, "program", made)
		if err != nil {
			t.Fatal(err)
		}
		read, valid := kept.Read(d.Code, at, "program")
		if !valid || !reflect.DeepEqual(read, made) {
			t.Fatalf("read %+v, compiled %+v, valid %t", read, made, valid)
		}
		for _, e := range read.Endpoints {
			c, err := d.Compile(e.Name, ingest.Harvest)
			if err != nil {
				t.Fatal(err)
			}
			hash, err := c.Prototype.Hash()
			at, wrong := c.Namespace()
			if err != nil || wrong != nil || e.Question != hash || e.At != at || e.Field != c.Snapshot.Filter.Field || !reflect.DeepEqual(e.Window, c.Snapshot.Window) || !reflect.DeepEqual(e.Alerts, c.Alerts) {
				t.Fatalf("%s: %+v is not what the harvest asks for", e.Name, e)
			}
		}
	})
}

// An outline of another version, by another program, or that was damaged is not believed.
func TestOutlineIsBelievedOnlyForWhatItIsOf(t *testing.T) {
	text, err := catalog.Read("crossref")
	if err != nil {
		t.Fatal(err)
	}
	made, err := outline.Of(definition(t, "crossref.yaml", string(text)))
	if err != nil {
		t.Fatal(err)
	}
	at := registry.Stamp{Version: 3, Until: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}
	kept, err := outline.Keep("crossref", at, "program", made)
	if err != nil {
		t.Fatal(err)
	}
	if _, valid := kept.Read("crossref", at, "program"); !valid {
		t.Fatal("it is not even believed for what it is of")
	}
	for name, refused := range map[string]func() bool{
		"another source": func() bool { _, valid := kept.Read("other", at, "program"); return !valid },
		"another version": func() bool {
			_, valid := kept.Read("crossref", registry.Stamp{Version: 4, Until: at.Until}, "program")
			return !valid
		},
		"a version has begun": func() bool { _, valid := kept.Read("crossref", registry.Stamp{Version: 3}, "program"); return !valid },
		"another program":     func() bool { _, valid := kept.Read("crossref", at, "another"); return !valid },
		"no program":          func() bool { _, valid := kept.Read("crossref", at, ""); return !valid },
		"nothing was kept":    func() bool { _, valid := (outline.Kept{}).Read("crossref", at, "program"); return !valid },
		"a row of another version under this one": func() bool {
			moved := kept
			moved.Stamp.Version = 4
			_, valid := moved.Read("crossref", moved.Stamp, "program")
			return !valid
		},
		"a row of another program under this one": func() bool {
			moved := kept
			moved.Program = "another"
			_, valid := moved.Read("crossref", at, "another")
			return !valid
		},
	} {
		if !refused() {
			t.Errorf("believed: %s", name)
		}
	}
	for i := range kept.Text {
		damaged := kept
		damaged.Text = slices.Clone(kept.Text)
		damaged.Text[i] ^= 1
		if _, valid := damaged.Read("crossref", at, "program"); valid {
			t.Fatalf("believed with a flipped bit at %d", i)
		}
	}
}
