package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// heldSources are the applied sources as one answer sees them. An answer about all sources
// asks for each of them several times; held, they are read together and once, and no two
// parts of the answer speak of different versions.
type heldSources struct {
	codes   []dictionary.Type
	codesAt time.Time

	outlines map[string]outline.Source // of sources that were not read

	mu      sync.Mutex
	known   map[string]*knownSource
	wrong   map[string]error // why a source cannot be read
	applied map[string]time.Time
}

type heldKey struct{}

func heldIn(ctx context.Context) *heldSources {
	held, _ := ctx.Value(heldKey{}).(*heldSources)
	return held
}

// holdSources reads all applied sources as they are now. Whatever asks for a source with the
// context that is returned gets it from there.
func (c *registryCache) holdSources(ctx context.Context, db *store.Store) (context.Context, error) {
	return c.hold(ctx, db, false)
}

// holdOutlines does the same for whoever asks only for outlines: a source that has one is not
// read.
func (c *registryCache) holdOutlines(ctx context.Context, db *store.Store) (context.Context, error) {
	return c.hold(ctx, db, true)
}

func (c *registryCache) hold(ctx context.Context, db *store.Store, onlyOutlines bool) (context.Context, error) {
	if held := heldIn(ctx); held != nil && (onlyOutlines || len(held.outlines) == 0) {
		return ctx, nil
	}
	ctx, now, err := db.HoldClock(ctx)
	if err != nil {
		return ctx, err
	}
	stamps, err := db.SourceStamps(ctx) // before the sources: what is applied in between is read once more the next time
	if err != nil {
		return ctx, err
	}
	held := &heldSources{known: map[string]*knownSource{}, wrong: map[string]error{}, outlines: map[string]outline.Source{}}
	var unread []string
	for code, stamp := range stamps {
		known, _ := c.heldCopy(code)
		if known == nil || !known.applied || known.stamp != stamp || known.isExpired(now) {
			unread = append(unread, code)
			continue
		}
		held.known[code] = known
		c.keepSource(code, heldSource{known, now})
	}
	if onlyOutlines {
		if unread, err = held.readOutlines(ctx, db, unread, stamps); err != nil {
			return ctx, err
		}
	}
	if !onlyOutlines || len(unread) > 0 {
		if held.codes, held.codesAt, err = c.readCodes(ctx, db, now); err != nil {
			return ctx, err
		}
	}
	if err := c.readHeld(ctx, db, held, unread, stamps, now); err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, heldKey{}, held), nil
}

// readHeld reads the sources of which there is no copy, or an old one. A code that has no
// version in force now is looked for among the bundled ones when somebody asks for it.
func (c *registryCache) readHeld(ctx context.Context, db *store.Store, held *heldSources, codes []string, stamps map[string]registry.Stamp, now time.Time) error {
	loaded, err := db.LoadSources(ctx, codes)
	if err != nil {
		return err
	}
	for code, one := range loaded {
		switch {
		case one.Err != nil:
			held.wrong[code] = one.Err
		case one.Source != nil:
			known := c.newKnown(stamps[code], held.codes, held.codesAt)
			known.src, known.applied = one.Source, true
			held.known[code] = known
			c.keepSource(code, heldSource{known, now})
		}
	}
	return nil
}

// findSource gives a source as it is held. What is not applied may be bundled.
func (h *heldSources) findSource(ctx context.Context, c *registryCache, db *store.Store, code string) (*knownSource, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.known[code]; known != nil {
		return known, nil
	}
	if err := h.wrong[code]; err != nil {
		return &knownSource{}, err
	}
	known, _ := c.heldCopy(code)
	if known == nil || known.applied || known.isExpired(h.codesAt) {
		known = c.newKnown(registry.Stamp{}, h.codes, h.codesAt)
		if err := known.load(ctx, db, code, false); err != nil {
			return &knownSource{}, err
		}
		c.keepSource(code, heldSource{known, h.codesAt})
	}
	h.known[code] = known
	return known, nil
}
