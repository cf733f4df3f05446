package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/blackbox"
	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/extract"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/paging"
	"github.com/patra-ingest/patra/internal/core/slicing"
	"github.com/patra-ingest/patra/internal/core/spec"
	"github.com/patra-ingest/patra/internal/core/twophase"
	"github.com/patra-ingest/patra/internal/core/window"
)

// FileStore knows which files of a listing have to be read.
type FileStore interface {
	OwedFiles(ctx context.Context, sliceID int64, take files.Take) ([]files.Owed, error)
	// CountActive counts the active records of a dataset, and no more than most.
	CountActive(ctx context.Context, datasetID int64, most int) (int, error)
}

// listsFiles reports whether the slice reads a listing of files.
func (r *taskRun) listsFiles() bool { return r.program.ReadsFiles() && r.file == nil }

// chooseFileWalk sets what the slice begins with, where records lie in files: one of them, the
// listing, or the addresses that the source names.
func (r *taskRun) chooseFileWalk(s slicing.Spec) {
	switch {
	case s.File != nil:
		r.file = &fileWalk{taskRun: r, owed: *s.File}
		r.first = r.file
	case len(r.program.Files.Addresses) > 0:
		r.first = addressWalk{r}
	}
}

// checkListed refuses a page of a listing with an item that is no file: one that is left out
// would be missing for good.
func (l *listWalk) checkListed(page *extract.Page) *fault.Error {
	if !l.listsFiles() {
		return nil
	}
	if len(page.Rejects) > 0 {
		r := page.Rejects[0]
		return fault.Newf(fault.BadBody, "%d of %d items of the listing cannot be read, so files may be missing: item %d: %s %s", len(page.Rejects), page.Seen, r.Index+1, r.Reason, r.Detail)
	}
	for _, in := range page.Records {
		if _, err := files.FromRecord(in); err != nil {
			return fault.New(fault.BadBody, fmt.Errorf("the listing cannot be used: %w", err))
		}
	}
	return nil
}

// fileDelivery takes the items of a list for files, which become slices when the list is read.
type fileDelivery struct{ *taskRun }

func (d fileDelivery) addPage(b *bundle, page *extract.Page, last bool) (twophase.Progress, bool) {
	for _, in := range page.Records {
		if f, err := files.FromRecord(in); err == nil { // see checkListed
			b.listed = append(b.listed, f)
		}
	}
	b.found = len(b.listed)
	return d.ids, last
}

func (fileDelivery) keptIDs(twophase.Progress) *twophase.Progress { return nil }

func (fileDelivery) owedWindow(left window.Window) window.Window { return left }

func (d fileDelivery) readerOf(detail bool) *spec.Program {
	if detail {
		return d.program.Detail
	}
	return d.program
}

func (fileDelivery) asksByID() bool { return false }

func (fileDelivery) listsIDs() bool { return true }

// endListing ends a listing that is wholly read. If all its files were read before, the whole
// set is known as of now; else each file that is owed becomes a slice in the place of this one.
func (r *taskRun) endListing(ctx context.Context) (ingest.Outcome, error) {
	if r.generationEnd != nil && r.generationEnd.Items == 0 {
		r.generationEnd = nil
		return ingest.Outcome{}, fault.Newf(fault.BadBody, "the listing names no file: nothing shows that there are none (response.items of the LISTING endpoint)")
	}
	owed, err := r.executor.store.OwedFiles(ctx, r.work.Lineage.SliceID, r.program.Files.Take)
	if err != nil {
		return ingest.Outcome{}, err
	}
	if len(owed) > files.MostFiles {
		return ingest.Outcome{}, fault.Newf(fault.TooLarge, "more than %d files have to be read, and a plan cannot have that many slices; let the listing name fewer", files.MostFiles)
	}
	if len(owed) == 0 {
		return successOutcome(), nil
	}
	return ingest.Outcome{
		Task: ingest.TaskPartial, Run: ingest.RunPartial, Code: string(fault.FilesListed),
		Error: fmt.Sprintf("the listing is read, and %d of its files have to be: each is a slice of its own", len(owed)),
	}, nil
}

// askForFileSlices asks the planner to make slices of the files that are owed.
func (r *taskRun) askForFileSlices(ctx context.Context, o ingest.Outcome) error {
	detail, err := json.Marshal(map[string]any{"why": o.Error})
	if err != nil {
		return err
	}
	return r.executor.store.RequestReslice(ctx, ingest.ResliceRequest{
		Lease: r.work.Lease, Extend: r.executor.config.Lease, Reason: fault.FilesListed, Remaining: r.work.Window, Detail: detail,
	})
}

// addressWalk notes the addresses that a source names. Nobody is asked for them.
type addressWalk struct{ *taskRun }

func (w addressWalk) next(ctx context.Context) (done bool, err error) {
	b := bundle{answer: &answer{kept: nothingKept}, before: w.pass.state, after: w.pass.state, why: "the source names its files (files.addresses)"}
	for _, address := range w.program.Files.Addresses {
		b.listed = append(b.listed, files.FromAddress(address))
	}
	if b.origin, err = json.Marshal(map[string]any{"context": blackbox.Context{At: w.lastSeen, Why: b.why}}); err != nil {
		return false, err
	}
	b.checkpoint = w.pass.toCheckpoint()
	b.checkpoint.Done = true
	stop, err := w.commitBundle(ctx, b)
	if err != nil {
		return false, err
	}
	return stop == nil, stop
}

func (addressWalk) requestElsewhere() (*exchange.Request, error) {
	return nil, errors.New("addresses of files are no list")
}

func (addressWalk) startsOver(*fault.Error) bool { return false }

func (addressWalk) explainEnd(_ context.Context, cause error) error { return cause }

func (addressWalk) endsEarly(fault.Code) (ingest.TaskStatus, ingest.RunStatus, bool) {
	return "", "", false
}

// filePaging is how parts of a file follow each other: by a token that says where one begins.
var filePaging = paging.Config{Type: paging.Token}.WithDefaults()
