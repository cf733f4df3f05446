package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/outline"
	"github.com/patra-ingest/patra/internal/core/registry"
	"github.com/patra-ingest/patra/internal/core/schedule"
	"github.com/patra-ingest/patra/internal/driver/store"
	"github.com/patra-ingest/patra/internal/engine/trigger"
)

// outlinesAtOnce is how many sources one look compiles to keep their outlines: a program that
// is new to a database of thousands does it little by little.
const outlinesAtOnce = 200

// keepOutlines keeps the outlines of applied sources that this program has none of, so that
// commands that only look need not read and compile definitions. Whoever only reads does not
// write, and nothing depends on it: what goes wrong is logged.
func (a *App) keepOutlines(ctx context.Context) {
	if err := a.keepMissingOutlines(ctx, programHash()); err != nil && ctx.Err() == nil {
		a.config.Log.Warn("outlines of sources could not be kept: patra status takes longer without", "error", err)
	}
}

func (a *App) keepMissingOutlines(ctx context.Context, program string) error {
	if program == "" || a.config.MustExist {
		return nil
	}
	stamps, err := a.store.SourceStamps(ctx) // before the sources: one that is applied in between has another stamp then
	if err != nil {
		return err
	}
	kept, err := a.store.Outlines(ctx, program)
	if err != nil {
		return err
	}
	var missing []string
	for _, code := range slices.Sorted(maps.Keys(stamps)) {
		if _, valid := kept[code].Read(code, stamps[code], program); !valid {
			missing = append(missing, code)
		}
	}
	missing = missing[:min(len(missing), outlinesAtOnce)]
	loaded, err := a.store.LoadSources(ctx, missing)
	if err != nil || len(loaded) == 0 {
		return err
	}
	var all []outline.Kept
	for _, code := range missing {
		if loaded[code].Source == nil {
			continue
		}
		s, err := outline.Of(definitionOf(loaded[code].Source))
		if err != nil {
			continue // whoever looks at it tells what is wrong
		}
		k, err := outline.Keep(code, stamps[code], program, s)
		if err != nil {
			return err
		}
		all = append(all, k)
	}
	if len(all) == 0 {
		return nil
	}
	return a.store.KeepOutlines(ctx, all)
}

// readOutlines takes the outlines that are to be believed, and returns the sources that are
// without.
func (h *heldSources) readOutlines(ctx context.Context, db *store.Store, codes []string, stamps map[string]registry.Stamp) (unread []string, err error) {
	program := programHash()
	if len(codes) == 0 || program == "" {
		return codes, nil
	}
	kept, err := db.Outlines(ctx, program)
	if err != nil {
		return nil, err
	}
	for _, code := range codes {
		s, valid := kept[code].Read(code, stamps[code], program)
		if !valid {
			unread = append(unread, code)
			continue
		}
		h.outlines[code] = s
	}
	return unread, nil
}

// definitionOf is a definition that nobody has compiled yet.
func definitionOf(src *registry.Source) outline.Definition {
	known := newKnownSource(src)
	return known.definition()
}

// definition is the source with what was compiled and merged of it.
func (k *knownSource) definition() outline.Definition {
	return outline.Definition{Source: k.src, Compile: k.compileDeclared, Resolve: k.resolve}
}

// endpoints returns what the harvests of a source ask for, and why one of them cannot be planned.
func (k *knownSource) endpoints() ([]outline.Endpoint, error) {
	k.outlining.Do(func() { k.outlined, k.unplannable = outline.Endpoints(k.definition()) })
	return k.outlined, k.unplannable
}

// jobs lists what a source schedules, and what of it cannot be followed.
func (k *knownSource) jobs() ([]trigger.Job, error) {
	declared, err := outline.Jobs(k.definition())
	out, wrong := jobsOf(k.src.Code, declared)
	return out, errors.Join(err, wrong)
}

// jobsOf makes jobs of what a source schedules.
func jobsOf(code string, declared []outline.Job) (out []trigger.Job, err error) {
	for _, d := range declared {
		j := trigger.Job{Partition: ingest.Partition{Dataset: ingest.Dataset{Source: code, Endpoint: d.Endpoint}, Operation: d.Operation}}
		var wrong error
		if j.Schedule, wrong = schedule.New(trigger.Name(j.Partition), d.Schedule); wrong != nil {
			err = errors.Join(err, wrong)
			continue
		}
		out = append(out, j)
	}
	return out, err
}

// outlineIn returns the outline of a source, where a context holds one in place of its
// definition.
func outlineIn(ctx context.Context, code string) (s outline.Source, held bool) {
	if h := heldIn(ctx); h != nil {
		s, held = h.outlines[code]
	}
	return s, held
}

// appliedIn lists the applied sources with the begin of their version; with a context that
// holds sources it asks once.
func (a *App) appliedIn(ctx context.Context) (map[string]time.Time, error) {
	h := heldIn(ctx)
	if h == nil {
		return a.store.AppliedSources(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var err error
	if h.applied == nil {
		h.applied, err = a.store.AppliedSources(ctx)
	}
	return h.applied, err
}

// HoldOutlines reads the outlines of all applied sources once for what is asked with the context
// it returns. Of a source without one the definition is read.
func (d definitions) HoldOutlines(ctx context.Context) (context.Context, error) {
	return d.registry.holdOutlines(ctx, d.store)
}

// EndpointsOf returns what the harvests of a source ask for.
func (d definitions) EndpointsOf(ctx context.Context, code string) (all []outline.Endpoint, wrong, err error) {
	if s, held := outlineIn(ctx, code); held {
		return s.Endpoints, nil, nil
	}
	known, err := d.registry.findSource(ctx, d.store, code)
	if err != nil {
		return nil, nil, err
	}
	all, wrong = known.endpoints()
	return all, wrong, nil
}

// OutlineSource returns what the harvests of a definition ask for. Of the newest version of a
// source that is kept.
func (d definitions) OutlineSource(src *registry.Source) ([]outline.Endpoint, error) {
	if known, _ := d.registry.heldCopy(src.Code); known != nil && known.src == src {
		return known.endpoints()
	}
	return outline.Endpoints(definitionOf(src))
}
