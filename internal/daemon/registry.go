package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/registry/dictionary"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/driver/store"
)

// registryCache keeps sources and their snapshots between plans (§3.7). A copy
// is used while the stamp of the source says that it is the newest: that is one
// small query instead of reading every table. Within the TTL even that is saved.
type registryCache struct {
	ttl       time.Duration
	installed Installed

	mu      sync.Mutex
	sources map[string]heldSource
	codes   []dictionary.Type // the lists of codes, read once for all sources
	codesAt time.Time         // when; zero: not yet
}

// heldSource is a source and when the database last said that it is the newest.
type heldSource struct {
	known *knownSource
	asked time.Time
}

func newRegistryCache(ttl time.Duration, in Installed) *registryCache {
	return &registryCache{ttl: ttl, installed: in, sources: map[string]heldSource{}}
}

// knownSource is one version of a source. It is immutable; snapshots made from
// it are kept beside it and go with it.
type knownSource struct {
	src       *registry.Source
	applied   bool
	stamp     registry.Stamp
	codes     []dictionary.Type // the dictionary it was read with; empty if there is none yet
	codesAt   time.Time
	installed Installed // whose contact is sent where the source names none

	mu       sync.Mutex
	compiled map[compiledKey]*spec.Compiled // as it may run here
	declared map[compiledKey]*spec.Compiled // whether or not it may
	resolved map[compiledKey]*registry.Resolved

	outlining   sync.Once
	outlined    []outline.Endpoint // what its harvests ask for
	unplannable error              // why one of them cannot be planned
}

type compiledKey struct {
	endpoint string
	op       ingest.Operation
}

// findSource gives the source as it is now: as applied, else as bundled. With a context of
// holdSources it is as it was then.
func (c *registryCache) findSource(ctx context.Context, db *store.Store, code string) (*knownSource, error) {
	if held := heldIn(ctx); held != nil {
		return held.findSource(ctx, c, db, code)
	}
	now, err := db.Now(ctx)
	if err != nil {
		return &knownSource{}, err
	}
	known, asked := c.heldCopy(code)
	if known != nil && !known.isExpired(now) && !now.Before(asked) && now.Sub(asked) < c.ttl {
		return known, nil
	}
	stamp, applied, err := db.SourceStamp(ctx, code)
	if err != nil {
		return &knownSource{}, err
	}
	if known == nil || known.applied != applied || known.stamp != stamp || known.isExpired(now) {
		codes, codesAt, err := c.readCodes(ctx, db, now)
		if err != nil {
			return &knownSource{}, err
		}
		known = c.newKnown(stamp, codes, codesAt)
		if err := known.load(ctx, db, code, applied); err != nil {
			return &knownSource{}, err
		}
	}
	c.keepSource(code, heldSource{known, now})
	return known, nil
}

// newKnown is a version of a source that is yet to be read.
func (c *registryCache) newKnown(stamp registry.Stamp, codes []dictionary.Type, codesAt time.Time) *knownSource {
	known := newKnownSource(nil)
	known.stamp, known.codes, known.codesAt, known.installed = stamp, codes, codesAt, c.installed
	return known
}

func newKnownSource(src *registry.Source) *knownSource {
	return &knownSource{src: src, compiled: map[compiledKey]*spec.Compiled{}, declared: map[compiledKey]*spec.Compiled{}, resolved: map[compiledKey]*registry.Resolved{}}
}

// codesTTL is how long the dictionary is believed: it hardly ever changes, and
// no stamp tells when it did.
const codesTTL = time.Minute

// isExpired reports whether the source must be read again: a version that was scheduled
// has begun, or the codes are old.
func (k *knownSource) isExpired(now time.Time) bool {
	begun := !k.stamp.Until.IsZero() && !now.Before(k.stamp.Until)
	return begun || now.Sub(k.codesAt) >= codesTTL
}

// readCodes returns the dictionary, and when it was read. It is the same for all sources, and
// as large as one of them.
func (c *registryCache) readCodes(ctx context.Context, db *store.Store, now time.Time) ([]dictionary.Type, time.Time, error) {
	c.mu.Lock()
	codes, at := c.codes, c.codesAt
	c.mu.Unlock()
	if !at.IsZero() && !now.Before(at) && now.Sub(at) < codesTTL {
		return codes, at, nil
	}
	codes, err := db.Dictionary(ctx)
	if err != nil {
		return nil, now, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.codes, c.codesAt = codes, now
	return codes, now, nil
}

// load reads a source. The stamp was taken before: if the source changes in between, the
// copy is newer than its stamp and is merely read once more.
func (k *knownSource) load(ctx context.Context, db *store.Store, code string, applied bool) (err error) {
	if applied {
		k.src, k.applied, err = db.LoadSource(ctx, code)
	}
	if err == nil && k.src == nil {
		k.src, err = bundledOrMeant(ctx, db, code)
	}
	return err
}

// bundledOrMeant returns a bundled source. If there is none of that name, an applied
// one may have been meant.
func bundledOrMeant(ctx context.Context, db *store.Store, code string) (*registry.Source, error) {
	src, err := Bundled(code)
	if !errors.Is(err, fault.ErrNotFound) {
		return src, err
	}
	applied, wrong := db.AppliedSources(ctx)
	if wrong != nil {
		return nil, wrong
	}
	return nil, unknownSource(code, slices.Sorted(maps.Keys(applied)))
}

func (c *registryCache) heldCopy(code string) (*knownSource, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sources[code].known, c.sources[code].asked
}

func (c *registryCache) keepSource(code string, h heldSource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sources[code] = h
}

// compileOperation makes or finds the snapshot. Overrides belong to one run and are not
// kept.
func (k *knownSource) compileOperation(endpoint string, op ingest.Operation, overrides []registry.Override) (*spec.Compiled, error) {
	if len(overrides) > 0 {
		c, err := k.freezeOperation(endpoint, op, overrides)
		if err != nil {
			return nil, err
		}
		own, err := k.compileOperation(endpoint, op, nil)
		c.Foreign = err != nil || !sameQuestion(c, own)
		return c, nil
	}
	key := compiledKey{endpoint, op}
	k.mu.Lock()
	defer k.mu.Unlock()
	if c, ok := k.compiled[key]; ok {
		return c, nil
	}
	c, err := k.freezeOperation(endpoint, op, nil)
	if err == nil {
		k.compiled[key] = c
	}
	return c, err
}

// compileDeclared makes or finds the snapshot of an operation as the source says it, whether
// or not it may run here: what was planned by it is looked at also where it may not.
func (k *knownSource) compileDeclared(endpoint string, op ingest.Operation) (*spec.Compiled, error) {
	key := compiledKey{endpoint, op}
	k.mu.Lock()
	defer k.mu.Unlock()
	if c, ok := k.declared[key]; ok {
		return c, nil
	}
	c, err := Compile(k.src, endpoint, op, nil)
	if err == nil {
		k.declared[key] = c
	}
	return c, err
}

// resolve merges the settings of one operation, as declared. Whoever gets them only reads.
func (k *knownSource) resolve(endpoint string, op ingest.Operation) (*registry.Resolved, error) {
	key := compiledKey{endpoint, op}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.resolved[key]; ok {
		return r, nil
	}
	r, err := registry.Resolve(k.src, endpoint, string(op), nil)
	if err == nil {
		k.resolved[key] = r
	}
	return r, err
}

// sameQuestion reports whether both move the same watermark (see decision 13).
func sameQuestion(a, b *spec.Compiled) bool {
	one, err := a.Namespace()
	if err != nil {
		return false
	}
	other, err := b.Namespace()
	return err == nil && one == other
}

// freezeOperation also holds every code against the dictionary of the database: what an
// operator switched off there is not used (§3.3.3).
func (k *knownSource) freezeOperation(endpoint string, op ingest.Operation, overrides []registry.Override) (*spec.Compiled, error) {
	resolved, err := Resolve(k.src, endpoint, op, overrides)
	if err != nil {
		return nil, err
	}
	if len(k.codes) > 0 {
		if err := resolved.UnknownCodes(k.codes).Err(); err != nil {
			return nil, err
		}
	}
	k.installed.FillSettings(resolved)
	return spec.Compile(resolved)
}
