package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/archive"
	"github.com/patra-ingest/patra/internal/engine/maintenance"
)

// ArchiveConfig says where history goes that leaves the database, and what a
// process that serves moves or removes automatically. Without a policy it does nothing.
type ArchiveConfig struct {
	// Dir has a default only beside a SQLite file: a folder of this machine says
	// nothing to the other processes of a server's database.
	Dir    string
	Policy retention.Policy
}

func (c ArchiveConfig) withDefaults(database string) ArchiveConfig {
	c.Dir = cmp.Or(c.Dir, besideFile(database, ".archive"))
	return c
}

// ArchiveDir returns where history goes.
func (a *App) ArchiveDir() string { return a.config.Archive.Dir }

// Upkeep moves old history out of the database.
type Upkeep = maintenance.Service

// CheckProgress is how far a check of the database has come.
type CheckProgress = maintenance.CheckProgress

// Maintenance looks after the database. Without a folder it cannot archive.
func (a *App) Maintenance() (*Upkeep, error) {
	config := maintenance.Config{Owner: a.identity.ID, Lease: a.config.Lease}
	if a.config.Archive.Dir == "" {
		return maintenance.New(a.store, nil, config, a.config.Log), nil
	}
	files, err := archive.Open(a.config.Archive.Dir)
	if err != nil {
		return nil, err
	}
	files.NoteHead(func(ctx context.Context) (string, error) {
		head, err := a.auditHead(ctx)
		return head.Hash, err
	})
	return maintenance.New(a.store, files, config, a.config.Log), nil
}

var errNoArchiveDir = fmt.Errorf("%w: history is to be archived, but no folder is known: name it with --archive-dir or PATRA_ARCHIVE_DIR, on a disk that all machines see", fault.ErrInvalid)

// runMaintenance does what the policy of this process asks for. A policy that cannot be
// followed is an error at once: one warning a day would not be read.
func (a *App) runMaintenance(ctx context.Context) error {
	p := a.config.Archive.Policy
	if len(a.config.Events.Destinations) > 0 { // somebody is to get them
		p.Unclaimed = 0
	}
	if p.Archives() && a.config.Archive.Dir == "" {
		return errNoArchiveDir
	}
	s, err := a.Maintenance()
	if err != nil {
		return err
	}
	return s.Run(ctx, p)
}

// ArchivedBatch looks for a batch that left the database. retention.ErrNotArchived means
// that no archive has it.
func (a *App) ArchivedBatch(ctx context.Context, id int64) (b view.Batch, file string, err error) {
	s, err := a.Maintenance()
	if err != nil {
		return b, "", err
	}
	found, err := s.Find(ctx, retention.Link{Level: retention.AtBatch, ID: id})
	for _, f := range found {
		b, broken := retention.ReadBatch(f.Rows)
		if broken == nil && b.ID == id {
			return b, f.Archive.Name, nil
		}
		err = errors.Join(err, broken)
	}
	if err == nil {
		err = retention.ErrNotArchived
	}
	return b, "", err
}
