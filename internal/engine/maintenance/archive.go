package maintenance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/retention"
)

// The duties, as the audit log names them.
const (
	ArchiveDuty = "db.archive"
	PruneDuty   = "db.prune"
)

var errNoFiles = fmt.Errorf("%w: no folder for archives is known: name it with --archive-dir or PATRA_ARCHIVE_DIR", fault.ErrInvalid)

// Archive moves old events and old plans into files. What an earlier run left
// half done is brought to its end first. A cursor or a plan that cannot be moved
// does not keep the others from it.
func (s *Service) Archive(ctx context.Context, p retention.Policy, by ingest.Act) (retention.Archived, error) {
	p = p.WithDefaults()
	switch {
	case !p.Archives():
		return retention.Archived{}, fmt.Errorf("%w: nothing is to be archived: say how long history stays in the database", fault.ErrInvalid)
	case s.files == nil:
		return retention.Archived{}, errNoFiles
	}
	if err := p.Validate(); err != nil {
		return retention.Archived{}, err
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		return retention.Archived{}, err
	}
	run := archiving{service: s, policy: p, before: now.Add(-p.Archive), done: retention.Archived{DryRun: by.Rehearsal, Held: map[retention.Hold]int{}}}
	if by.Rehearsal {
		err := errors.Join(run.countEvents(ctx), run.countPlans(ctx), run.countSums(ctx))
		return run.done, err
	}
	err = s.holdAlone(ctx, func(ctx context.Context, epoch int64) error {
		run.attempt = nameAttempt(epoch)
		err := errors.Join(run.resumeArchives(ctx), run.archiveEvents(ctx), run.archivePlans(ctx), run.pruneSums(ctx))
		if !run.done.Changed() {
			return errors.Join(err, s.endDuty(ctx, ArchiveDuty, epoch, now, by, nil))
		}
		s.log.Info("history was archived", "events", run.done.Events, "plans", run.done.Plans, "rows", run.done.Rows, "files", len(run.done.Files))
		return errors.Join(err, s.endDuty(ctx, ArchiveDuty, epoch, now, by, map[string]any{
			"events": run.done.Events, "cursors": run.done.Cursors, "plans": run.done.Plans, "rows": run.done.Rows, "files": run.done.Files, "sums": run.done.Sums,
		}))
	})
	return run.done, err
}

// pruneSums removes the sums of hours whose runs are old enough to leave.
func (r *archiving) pruneSums(ctx context.Context) error {
	for {
		n, err := r.service.store.PruneSums(ctx, r.before)
		if err != nil || n == 0 {
			return err
		}
		r.done.Sums += n
	}
}

func (r *archiving) countSums(ctx context.Context) (err error) {
	r.done.Sums, err = r.service.store.OldSums(ctx, r.before)
	return err
}

func (s *Service) endDuty(ctx context.Context, duty string, epoch int64, now time.Time, by ingest.Act, did map[string]any) error {
	key := fingerprint.Key(s.config.Owner, fmt.Sprint(epoch), duty, fmt.Sprint(now.UnixMicro()))
	return s.store.EndUpkeep(ctx, duty, key, by, did)
}

// archiving is one run.
type archiving struct {
	service *Service
	policy  retention.Policy
	before  time.Time
	attempt string
	done    retention.Archived
}

// resumeArchives brings to its end what was begun: first what is sealed, so that rows are
// not longer than needed in two places.
func (r *archiving) resumeArchives(ctx context.Context) error {
	unfinished, err := r.service.store.UnfinishedArchives(ctx)
	if err != nil {
		return err
	}
	var failures error
	for _, a := range unfinished {
		if err := r.completeArchive(ctx, a); err != nil {
			failures = errors.Join(failures, err)
		}
	}
	return failures
}

// completeArchive does for an archive what is left to do.
func (r *archiving) completeArchive(ctx context.Context, a retention.Archive) (err error) {
	if a.Status == retention.Writing {
		write := r.writePlans
		if a.Kind == retention.Events {
			write = r.writeEvents
		}
		if a.File, err = write(ctx, a); err != nil {
			return r.giveUp(ctx, a, err)
		}
	}
	if err := r.emptyRows(ctx, a); err != nil {
		return err
	}
	r.done.Files = append(r.done.Files, a.Name)
	if a.Kind == retention.Events {
		r.done.Cursors++
		r.done.Events += a.Rows
		return nil
	}
	r.done.Plans += len(a.PlanIDs)
	r.done.Rows += a.Rows
	return nil
}

// writeFile writes the rows of an archive under a new name. What the attempt before has
// published is taken if it holds just these rows, and else left as it is: it may be
// sealed in another copy of this database, of which this one is an older backup.
func (r *archiving) writeFile(ctx context.Context, a retention.Archive, rows func() iter.Seq2[retention.Row, error]) (retention.File, error) {
	files := r.service.files
	if a.Name != "" {
		if f, same, err := files.Adopt(ctx, a.Name, rows()); err != nil || same {
			return f, errors.Join(err, files.Sweep(a.Name))
		}
	}
	name := a.FileName(r.attempt)
	before, err := r.service.store.NameArchive(ctx, a.ID, name)
	if err == nil && before != "" {
		err = files.Sweep(before)
	}
	if err != nil {
		return retention.File{}, err
	}
	return files.Write(ctx, name, rows())
}

// nameAttempt makes a name that no other attempt has, in whichever copy of whichever
// database: they may all write into one folder.
func nameAttempt(epoch int64) string {
	return fmt.Sprintf("e%d-%s", epoch, strings.ToLower(rand.Text()[:8]))
}

// emptyRows deletes what is in a sealed file, a few rows at a time.
func (r *archiving) emptyRows(ctx context.Context, a retention.Archive) error {
	for {
		n, err := r.service.store.DeleteArchived(ctx, a.ID, deleteAtOnce)
		if err != nil {
			return err
		}
		if n == 0 {
			return r.service.store.FinishArchive(ctx, a.ID)
		}
	}
}

// giveUp takes an archive back that cannot be sealed as it was decided: the next
// run decides anew. Other failures leave it: the next run goes on with it.
func (r *archiving) giveUp(ctx context.Context, a retention.Archive, why error) error {
	if !errors.Is(why, fault.ErrInvalid) {
		return why
	}
	if err := r.service.store.AbandonArchive(ctx, a.ID); err != nil {
		return errors.Join(why, err)
	}
	if err := r.service.files.Remove(a.FileName(r.attempt)); err != nil {
		return errors.Join(why, err)
	}
	return fmt.Errorf("archive %d was given up: %w", a.ID, why)
}
