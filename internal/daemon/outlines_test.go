package daemon

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/patra-ingest/patra/catalog"
	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/engine/trigger"
)

// Whatever is applied, scheduled and kept, and whenever one looks: an answer from kept outlines is what
// reading and compiling the sources gives.
func TestOutlinesAreNeverStale(t *testing.T) {
	app, c := cached(t, 0)
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) { // each goes on where the one before ended
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"apply", "schedule", "wait", "keep", "keep"}).Draw(t, "step") {
			case "apply":
				applyOutlined(t, app, time.Time{})
			case "schedule":
				applyOutlined(t, app, c.read().Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "hours"))*time.Hour))
			case "wait":
				c.advance(time.Duration(rapid.IntRange(1, 5).Draw(t, "hours later")) * time.Hour)
			case "keep":
				if err := app.keepMissingOutlines(ctx, programHash()); err != nil {
					t.Fatal(err)
				}
			}
			c.advance(time.Second)
			requireTrueOutlines(t, app)
		}
	})
}

func applyOutlined(t *rapid.T, app *App, from time.Time) {
	code := rapid.SampledFrom([]string{"crossref", "datacite"}).Draw(t, "source")
	text, err := catalog.Read(code)
	if err != nil {
		t.Fatal(err)
	}
	schedule := rapid.SampledFrom([]string{"\nschedule: {every: PT1H}\n", "\nschedule: {cron: '0 3 * * *'}\n", "\n"}).Draw(t, "schedule")
	src, _, err := registry.Decode(catalog.File(code), fmt.Appendf(text, "%salerts: {maxLag: PT%dH}\n", schedule, rapid.IntRange(1, 3).Draw(t, "lag")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.store.ApplySource(context.Background(), src, registry.ApplyOptions{From: from}); err != nil {
		t.Fatal(err)
	}
}

// requireTrueOutlines compares what a process that has read nothing yet says with and without outlines.
func requireTrueOutlines(t *rapid.T, app *App) {
	read := func(hold func(*registryCache, context.Context) (context.Context, error)) (all map[string][]outline.Endpoint, jobs []trigger.Job) {
		fresh := &App{store: app.store, config: app.config, registry: newRegistryCache(0, Installed{})}
		ctx, err := hold(fresh.registry, context.Background())
		if err != nil {
			t.Fatal(err)
		}
		all = map[string][]outline.Endpoint{}
		for _, code := range []string{"crossref", "datacite"} {
			endpoints, wrong, err := definitions{fresh}.EndpointsOf(ctx, code)
			if err != nil || wrong != nil {
				t.Fatal(err, wrong)
			}
			all[code] = endpoints
		}
		if err := fresh.forEachJob(ctx, "", func(j trigger.Job, _ time.Time) { jobs = append(jobs, j) }); err != nil {
			t.Fatal(err)
		}
		return all, jobs
	}
	want, wantJobs := read(func(c *registryCache, ctx context.Context) (context.Context, error) {
		return c.holdSources(ctx, app.store)
	})
	got, gotJobs := read(func(c *registryCache, ctx context.Context) (context.Context, error) {
		return c.holdOutlines(ctx, app.store)
	})
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("outlines say %+v, the sources %+v", got, want)
	}
	if !reflect.DeepEqual(gotJobs, wantJobs) {
		t.Fatalf("outlines schedule %+v, the sources %+v", gotJobs, wantJobs)
	}
}

// A source that was applied is not read again by whoever only looks, and a look keeps nothing.
func TestLooksReadOutlinesAndKeepNone(t *testing.T) {
	app, _ := cached(t, 0)
	applySize(t, app, 200, time.Time{})
	look := func() *heldSources {
		ctx, err := newRegistryCache(0, Installed{}).holdOutlines(t.Context(), app.store)
		if err != nil {
			t.Fatal(err)
		}
		return heldIn(ctx)
	}
	if held := look(); len(held.outlines) != 0 || held.known["crossref"] == nil {
		t.Errorf("before anything was kept: %d outlines", len(held.outlines))
	}
	reader := &App{store: app.store, config: app.config}
	reader.config.MustExist = true
	reader.keepOutlines(t.Context())
	if held := look(); len(held.outlines) != 0 {
		t.Error("a process that only reads has kept an outline")
	}
	app.keepOutlines(t.Context())
	if held := look(); len(held.outlines) != 1 || held.known["crossref"] != nil {
		t.Errorf("afterwards: %d outlines, and the definition was read: %t", len(held.outlines), held.known["crossref"] != nil)
	}
	applySize(t, app, 300, time.Time{})
	if held := look(); len(held.outlines) != 0 {
		t.Error("the outline of an older version was taken")
	}
}

// Two programs have different hashes, and one has the same each time.
func TestProgramIsKnownByItsBuild(t *testing.T) {
	if programHash() == "" {
		t.Fatal("this program has no build id")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	id := buildID(whole[:64<<10])
	if len(id) < 20 {
		t.Fatalf("build id %q", id)
	}
	for name, head := range map[string]string{
		"a note":         "\x04\x00\x00\x00\x05\x00\x00\x00\x04\x00\x00\x00Go\x00\x00a/b/crest",
		"before code":    "\x00\xff Go build ID: \"a/b/c\"\n \xffcode",
		"none":           "\x7fELF and nothing else",
		"a note cut off": "\x04\x00\x00\x00\xff\x00\x00\x00\x04\x00\x00\x00Go\x00\x00a/b",
	} {
		want := map[string]string{"a note": "a/b/c", "before code": "a/b/c"}[name]
		if got := string(buildID([]byte(head))); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
