package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/generation"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
)

// GenerationStore keeps what readings of whole lists saw.
type GenerationStore interface {
	OpenGeneration(ctx context.Context, sliceID int64, unit string) (ingest.Generation, error)
	JudgesReading(ctx context.Context, of ingest.Lineage) (bool, error)
	KeptGenerations(ctx context.Context, of int64) ([]generation.Kept, error)
	GenerationIDs(ctx context.Context, of, after int64, limit int) ([]ingest.IDPage, error)
	ActiveByHash(ctx context.Context, datasetID int64, hashes []uint64) ([]string, error)
	SweepGenerations(ctx context.Context) (more bool, err error)
}

// openGeneration opens the reading that the slice is, if its list is read whole or readings of
// its window replace each other.
func (r *taskRun) openGeneration(ctx context.Context) error {
	if r.program.ReplacesWindow() {
		r.unit = strings.TrimSpace(r.program.UnitOf(r.asked) + " " + r.program.Sector())
	}
	whole := r.program.ReadsWhole() && r.file == nil && len(r.program.Files.Addresses) == 0
	if !whole && r.unit == "" {
		return nil
	}
	g, err := r.executor.store.OpenGeneration(ctx, r.work.Lineage.SliceID, r.unit)
	if err != nil {
		return err
	}
	if g.Overtaken {
		return fault.Newf(fault.Refused, "a later reading of the list has ended, and the ids that this one saw are removed: it cannot be continued. Read the list again: patra harvest %s --endpoint %s", r.work.Partition.Source, r.work.Partition.Endpoint)
	}
	r.generation = &g
	return nil
}

// seenIDs returns the ids of a page as they are kept beside its batch; nil where the list
// is not read whole. Details are no part of the list.
func (r *taskRun) seenIDs(a *answer) *ingest.SeenIDs {
	page := a.pageThatCame()
	if r.generation == nil || page == nil || a.detail {
		return nil
	}
	return &ingest.SeenIDs{Generation: r.generation.ID, IDs: generation.PackIDs(page.Keys), Unnamed: unnamedIn(page)}
}

// unnamedIn counts the items of a page whose id could not be read.
func unnamedIn(page *extract.Page) (n int) {
	for _, reject := range page.Rejects {
		if reject.ProviderID == "" {
			n++
		}
	}
	return n
}

// settleGeneration judges a list that was read to its end, as the rules of paging name
// it: its total was met, and where its pages move two readings agreed. If enough of the
// last complete reading came again, the list is known, and ids that enough readings lack
// are gone. If not, what came is stored and the list is not read (D§5.26). A list that is
// asked for in sectors is judged by the last of its slices, for all of them.
func (r *taskRun) settleGeneration(ctx context.Context) error {
	if r.generation == nil {
		return nil
	}
	if r.program.Sector() != "" && r.unit == "" {
		if judges, err := r.executor.store.JudgesReading(ctx, r.work.Lineage); err != nil || !judges {
			return err
		}
	}
	kept, err := r.executor.store.KeptGenerations(ctx, r.generation.ID)
	if err != nil {
		return err
	}
	config := r.program.Whole
	roles := config.RolesOf(kept, r.generation.AsOf)
	found, unnamed, err := r.compareGenerations(ctx, roles)
	if err != nil {
		return err
	}
	verdict := config.Judge(roles, found.Counts, r.generation.AsOf)
	r.generationEnd = &ingest.GenerationEnd{ID: r.generation.ID, State: verdict.State, Base: verdict.Base, Counts: found.Counts, Why: verdict.Why}
	if verdict.State != generation.Complete {
		base := verdict.Base
		if base == 0 {
			base = r.generation.ID
		}
		r.generationEnd.Drop = roles.Surplus(base)
		return r.shrunkReading(verdict)
	}
	return r.buryVanished(ctx, roles, found, unnamed)
}

// shrunkReading says what to do about a reading that has too little.
func (r *taskRun) shrunkReading(verdict generation.Verdict) error {
	const confirmed = "a reading most of a day later that shows the same confirms it too"
	if r.unit != "" {
		return fault.Newf(fault.ShrunkList, "%s: %s; what came is stored, nothing is taken for gone, and the window does not count as read. If this is all of it now: patra harvest %s --endpoint %s --retry --set snapshot.minShare=0; %s",
			r.unit, verdict.Why, r.work.Partition.Source, r.work.Partition.Endpoint, confirmed)
	}
	return fault.Newf(fault.ShrunkList, "%s; what came is stored, and the list does not count as read. If this is the whole list now: patra coverage accept %s/%s --reason …; %s",
		verdict.Why, r.work.Partition.Source, r.work.Partition.Endpoint, confirmed)
}

// compareGenerations compares what this reading saw with what others did. unnamed is how
// many items had no id that could be read.
func (r *taskRun) compareGenerations(ctx context.Context, roles generation.Roles) (found generation.Comparison, unnamed int, err error) {
	passes, unnamed, err := r.lastPasses(ctx)
	if err != nil {
		return found, 0, err
	}
	mine := r.pagesOf(ctx, r.generation.ID, func(p ingest.IDPage) bool {
		return r.parents != nil || p.Pass == passes[p.Slice] // every parent has a pass of its own
	})
	sets := generation.Sets{New: mine, Recent: []generation.Pages{r.pagesOf(ctx, r.generation.ID, anyPass)}}
	err = mine(func(page []byte) { sets.IDs += 3 * int64(len(page)) / generation.IDBytes })
	if err != nil {
		return found, 0, err
	}
	add := func(k generation.Kept) generation.Pages {
		sets.IDs += k.IDs
		return r.pagesOf(ctx, k.ID, anyPass)
	}
	if roles.Last != nil {
		sets.Last, sets.MayBeGone = add(*roles.Last), r.program.Whole.MayBeGone(roles.MostItems())
	}
	if roles.Shrunk != nil {
		sets.Shrunk = add(*roles.Shrunk)
	}
	for _, k := range slices.Concat(roles.Recent, roles.Others) {
		sets.Recent = append(sets.Recent, add(k))
	}
	for _, k := range roles.Older {
		sets.Older = append(sets.Older, add(k))
	}
	found, err = generation.Compare(sets)
	return found, unnamed, err
}

// lastPasses returns the pass of each slice of the reading that came to its end, and how many
// items of the reading had no id that could be read. Of other slices it is the last one that
// saw an id.
func (r *taskRun) lastPasses(ctx context.Context) (passes map[int64]int, unnamed int, err error) {
	passes = map[int64]int{}
	err = r.pagesOf(ctx, r.generation.ID, func(p ingest.IDPage) bool {
		unnamed += p.Unnamed
		passes[p.Slice] = max(passes[p.Slice], p.Pass)
		return false
	})(func([]byte) {})
	passes[r.work.Lineage.SliceID] = r.lastPass()
	return passes, unnamed, err
}

// lastPass returns the pass that came to its end.
func (r *taskRun) lastPass() int {
	if r.run.Checkpoint.Done {
		return r.run.Checkpoint.Pass
	}
	return r.pass.no
}

func anyPass(ingest.IDPage) bool { return true }

// pagesAtOnce is how many pages of ids are read with one look.
const pagesAtOnce = 500

// pagesOf gives out the ids of a generation, those of some pages only.
func (r *taskRun) pagesOf(ctx context.Context, id int64, counts func(ingest.IDPage) bool) generation.Pages {
	return func(take func([]byte)) error {
		for after := int64(0); ; {
			pages, err := r.executor.store.GenerationIDs(ctx, id, after, pagesAtOnce)
			if err != nil {
				return err
			}
			for _, p := range pages {
				if after = p.Batch; counts(p) {
					take(p.IDs)
				}
			}
			if len(pages) < pagesAtOnce {
				return nil
			}
		}
	}
}

// buryVanished takes records for gone that enough complete readings lack. Too many at once
// are not believed, and none is where an item without an id may be one of them.
func (r *taskRun) buryVanished(ctx context.Context, roles generation.Roles, found generation.Comparison, unnamed int) error {
	end := r.generationEnd
	switch {
	case found.Vanished == 0:
	case r.program.Whole.MaxGone == 0:
	case unnamed > 0:
		end.Held = fmt.Sprintf("%d records have vanished from the list, and %d of its items have no id that can be read, so none is taken for gone: correct response.id, see patra quarantine list", found.Vanished, unnamed)
	case found.Vanished > int64(len(found.Gone)):
		end.Held = fmt.Sprintf("%d records have vanished from the list, more than the %d that are believed at once (snapshot.maxGone of %v), so none is taken for gone; if they are really gone: patra %s --endpoint %s --set snapshot.maxGone=1",
			found.Vanished, r.program.Whole.MayBeGone(roles.MostItems()), r.program.Whole.MaxGone, r.readAgain(), r.work.Partition.Endpoint)
	default:
		if err := r.commitVanished(ctx, roles, found.Gone); err != nil {
			return err
		}
	}
	end.Gone = int64(r.stats.Gone)
	end.Drop = roles.Expendable(end.Held != "")
	if end.Held != "" {
		r.line().Warn("vanished records are not taken for gone", "reason", end.Held)
	}
	return nil
}

// readAgain is the command that reads the same list or window once more.
func (r *taskRun) readAgain() string {
	if r.unit == "" {
		return "harvest " + r.work.Partition.Source
	}
	whole := r.program.Filter.Selected(r.asked)
	return fmt.Sprintf("backfill %s --from %s --to %s", r.work.Partition.Source, whole.From.UTC().Format(time.RFC3339), whole.To.UTC().Format(time.RFC3339))
}

// vanishedPerBatch is how many hashes one batch of vanished records is made of.
const vanishedPerBatch = 500

// commitVanished makes tombstones of records. Each was missed when the first of the readings
// began that lack it: whatever was fetched later was seen since and stays.
func (r *taskRun) commitVanished(ctx context.Context, roles generation.Roles, hashes []uint64) error {
	since := r.generation.AsOf
	for _, k := range roles.Recent {
		if k.State.Whole() && k.AsOf.Before(since) {
			since = k.AsOf
		}
	}
	for chunk := range slices.Chunk(hashes, vanishedPerBatch) {
		ids, err := r.executor.store.ActiveByHash(ctx, r.work.DatasetID, chunk)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			continue // buried by a run before this one
		}
		if err := r.commitGone(ctx, ids, since); err != nil {
			return err
		}
	}
	return nil
}

// commitGone commits one batch of records that have vanished. Nobody was asked for it.
func (r *taskRun) commitGone(ctx context.Context, ids []string, since time.Time) (err error) {
	b := bundle{answer: &answer{kept: nothingKept}, before: r.pass.state, after: r.pass.state, why: "vanished from the list"}
	for _, id := range ids {
		b.records = append(b.records, record.Incoming{ProviderID: id, Missed: true, Confirmed: true, FetchAt: since, MappingID: r.work.MappingID})
	}
	b.missed = len(ids)
	if b.origin, err = json.Marshal(map[string]any{"context": blackbox.Context{At: since, IDs: ids, Missed: len(ids), Why: b.why}}); err != nil {
		return err
	}
	b.checkpoint = r.pass.toCheckpoint()
	if r.run.Checkpoint.Done {
		b.checkpoint = r.run.Checkpoint
	}
	b.checkpoint.Done = true // the list is read; only this is left to do
	stop, err := r.commitBundle(ctx, b)
	if err != nil {
		return err
	}
	return stop
}

// endOfGeneration returns what the reading came to, where its run ends the slice.
func (r *taskRun) endOfGeneration(o ingest.Outcome) *ingest.GenerationEnd {
	judged := o.Task == ingest.TaskSucceeded || o.Code == string(fault.ShrunkList) || o.Code == string(fault.FilesListed)
	if !judged {
		return nil
	}
	return r.generationEnd
}

// sweepGenerations removes ids that the end of this reading made superfluous. What it does
// not come to is removed by the next reading.
func (r *taskRun) sweepGenerations(ctx context.Context) {
	if r.generation == nil {
		return
	}
	for more := true; more && ctx.Err() == nil; {
		var err error
		if more, err = r.executor.store.SweepGenerations(ctx); err != nil {
			r.line().Warn("ids of older readings are not removed", "error", err)
			return
		}
	}
}
