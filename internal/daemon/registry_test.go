package daemon

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/core/spec"
)

// clock is the store's clock, set by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func cached(t *testing.T, ttl time.Duration) (*App, *clock) {
	t.Helper()
	c := &clock{now: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)}
	app, err := Open(t.Context(), Config{Database: "sqlite:" + filepath.Join(t.TempDir(), "patra.db"), RegistryTTL: ttl, Clock: c.read})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	return app, c
}

func snapshot(t *testing.T, app *App) *spec.Compiled {
	t.Helper()
	c, err := app.Compile(t.Context(), "crossref", "", ingest.Harvest, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func applySize(t *testing.T, app *App, size int, from time.Time) {
	t.Helper()
	src, err := Bundled("crossref")
	if err != nil {
		t.Fatal(err)
	}
	src.Endpoints["works"].Paging.Size = size
	if _, err := app.store.ApplySource(context.Background(), src, registry.ApplyOptions{From: from}); err != nil {
		t.Fatal(err)
	}
}

// §3.7: a source that did not change is not read again, one that did is seen at once.
func TestUnchangedSourceIsReadOnce(t *testing.T) {
	app, c := cached(t, 0)
	bundled := snapshot(t, app)
	if again := snapshot(t, app); again != bundled {
		t.Error("the bundled source was compiled twice")
	}
	applySize(t, app, 77, time.Time{})
	c.advance(time.Second)
	applied := snapshot(t, app)
	if applied.Snapshot.Paging.Size != 77 {
		t.Fatalf("the applied source is not seen: size %d", applied.Snapshot.Paging.Size)
	}
	if again := snapshot(t, app); again != applied {
		t.Error("the applied source was compiled twice")
	}
	c.advance(time.Hour)
	applySize(t, app, 88, time.Time{})
	c.advance(time.Second)
	if got := snapshot(t, app).Snapshot.Paging.Size; got != 88 {
		t.Errorf("a change is not seen: size %d", got)
	}
}

func TestTTLSavesTheQuestion(t *testing.T) {
	app, c := cached(t, time.Minute)
	applySize(t, app, 77, time.Time{})
	c.advance(time.Second)
	first := snapshot(t, app)
	applySize(t, app, 88, time.Time{})
	c.advance(59 * time.Second)
	if snapshot(t, app) != first {
		t.Error("the source was read again within its TTL")
	}
	c.advance(time.Second)
	if got := snapshot(t, app).Snapshot.Paging.Size; got != 88 {
		t.Errorf("the TTL does not end: size %d", got)
	}
}

// A scheduled version begins when it said, whatever the TTL.
func TestScheduledVersionBeginsInTime(t *testing.T) {
	app, c := cached(t, time.Hour)
	applySize(t, app, 77, time.Time{})
	c.advance(time.Second)
	applySize(t, app, 88, c.read().Add(time.Minute))
	for _, want := range []struct {
		after time.Duration
		size  int
	}{{0, 77}, {59 * time.Second, 77}, {time.Second, 88}, {time.Second, 88}} {
		c.advance(want.after)
		if got := snapshot(t, app).Snapshot.Paging.Size; got != want.size {
			t.Errorf("%s later: size %d, want %d", want.after, got, want.size)
		}
	}
}

func TestOverridesAreNotKept(t *testing.T) {
	app, _ := cached(t, time.Hour)
	plain := snapshot(t, app)
	set, err := registry.ParseOverride("paging.size=5")
	if err != nil {
		t.Fatal(err)
	}
	own, err := app.Compile(t.Context(), "crossref", "", ingest.Harvest, []registry.Override{set})
	if err != nil || own.Snapshot.Paging.Size != 5 {
		t.Fatalf("%v, %+v", err, own)
	}
	if snapshot(t, app) != plain {
		t.Error("an override changed what others get")
	}
}

// §4.17, rule 6: a run may be more polite than its source, never less.
func TestOverridesOnlyLowerLimits(t *testing.T) {
	app, _ := cached(t, 0)
	for text, allowed := range map[string]bool{
		"rate.perSecond=0.5": true, "rate.perSecond=3": true, "rate.perSecond=3.5": false,
		"rate.concurrency=1": true, "rate.concurrency=4": false, "rate.burst=2": false, "rate.obeyHeaders=false": false,
	} {
		set, err := registry.ParseOverride(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := app.Compile(t.Context(), "crossref", "", ingest.Harvest, []registry.Override{set}); (err == nil) != allowed {
			t.Errorf("%s: %v", text, err)
		}
	}
	for address, allowed := range map[string]bool{"https://API.crossref.org.": false, "https://api.crossref.org:443": false, "https://mirror.example.org": true} {
		var set []registry.Override
		for _, text := range []string{"http.baseUrl=" + address, "rate.perSecond=50"} {
			o, err := registry.ParseOverride(text)
			if err != nil {
				t.Fatal(err)
			}
			set = append(set, o)
		}
		if _, err := app.Compile(t.Context(), "crossref", "", ingest.Harvest, set); (err == nil) != allowed {
			t.Errorf("another address %s: %v", address, err)
		}
	}
}

// §3.3.3: a code an operator switched off in the dictionary stops the compiler.
func TestDisabledCodeIsRefused(t *testing.T) {
	app, _ := cached(t, 0)
	types := dictionary.All()
	for i := range types {
		if types[i].Code == "pagination_mode" {
			types[i].Items = slices.DeleteFunc(slices.Clone(types[i].Items), func(item dictionary.Item) bool { return item.Code == "TOKEN" })
		}
	}
	if _, err := app.store.SeedDictionary(t.Context(), types); err != nil {
		t.Fatal(err)
	}
	_, err := app.Compile(t.Context(), "crossref", "", ingest.Harvest, nil)
	if err == nil || !strings.Contains(err.Error(), "E-DICT-CODE") || !strings.Contains(err.Error(), "paging.type") {
		t.Errorf("%v", err)
	}
}

// Whoever holds the sources for an answer sees one version of each from its begin to its end,
// and whoever asks next sees what is applied by then.
func TestHeldSourcesDoNotChangeWithinAnAnswer(t *testing.T) {
	app, _ := cached(t, 0)
	applySize(t, app, 100, time.Time{})
	sizeWith := func(ctx context.Context) int {
		t.Helper()
		c, err := app.compileUntraced(ctx, "crossref", "", ingest.Harvest, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Snapshot.Paging.Size
	}
	hold := func() context.Context {
		t.Helper()
		ctx, err := app.registry.holdSources(t.Context(), app.store)
		if err != nil {
			t.Fatal(err)
		}
		return ctx
	}
	first := hold()
	applySize(t, app, 200, time.Time{})
	if now, held, next := sizeWith(t.Context()), sizeWith(first), sizeWith(hold()); now != 200 || held != 100 || next != 200 {
		t.Errorf("pages of %d now, %d as held before, %d as held again", now, held, next)
	}
	if src, _, err := app.Source(first, "openalex"); err != nil || src.Code != "openalex" {
		t.Errorf("a bundled source is not found: %v", err)
	}
	if _, _, err := app.Source(first, "crosref"); err == nil || !strings.Contains(err.Error(), "did you mean crossref") {
		t.Errorf("%v", err)
	}
}
