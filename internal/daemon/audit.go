package daemon

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/retention"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/archive"
)

// auditAtOnce is how many entries one query of a verification reads.
const auditAtOnce = 1000

// VerifyAudit holds the audit log against itself, against the heads that archives
// have noted, and against those that were noted elsewhere (A37).
func (a *App) VerifyAudit(ctx context.Context, noted ...audit.Noted) (audit.Report, error) {
	return a.verifyAudit(ctx, false, noted...)
}

// verifyAudit does so; a quick look takes archives as they are, without their hash.
func (a *App) verifyAudit(ctx context.Context, quick bool, noted ...audit.Noted) (audit.Report, error) {
	chain := audit.NewChain(noted...)
	unasked, err := a.callArchives(ctx, chain, quick)
	if err != nil {
		return audit.Report{}, err
	}
	for after := int64(0); ; {
		entries, err := a.store.AuditChain(ctx, after, auditAtOnce)
		if err != nil {
			return audit.Report{}, err
		}
		for _, e := range entries {
			chain.Add(e)
			after = e.ID
		}
		if len(entries) < auditAtOnce {
			report := chain.Report()
			report.Unasked = unasked
			return report, nil
		}
	}
}

// callArchives lets the archives vouch for the log, and tells how many could not be
// asked because no folder is known.
func (a *App) callArchives(ctx context.Context, chain *audit.Chain, quick bool) (unasked int, err error) {
	var known []retention.Archive
	for after := int64(0); ; {
		page, err := a.store.Archives(ctx, after, auditAtOnce)
		if err != nil {
			return 0, err
		}
		known = append(known, page...)
		if len(page) < auditAtOnce {
			break
		}
		after = page[len(page)-1].ID
	}
	known = slices.DeleteFunc(known, func(f retention.Archive) bool { return f.Status == retention.Writing })
	if a.config.Archive.Dir == "" {
		return len(known), nil
	}
	files, err := archive.Open(a.config.Archive.Dir)
	if err != nil {
		return 0, err
	}
	witnesses, err := files.Heads(ctx, known, quick)
	if err == nil {
		chain.Call(witnesses...)
	}
	return 0, err
}

// auditHead returns the newest entry; the root where there is none.
func (a *App) auditHead(ctx context.Context) (audit.Entry, error) {
	newest, err := a.store.AuditLog(ctx, view.Filter{Limit: 1})
	if err != nil || len(newest) == 0 {
		return audit.Entry{Hash: audit.Root()}, err
	}
	return newest[0], nil
}

// auditLook is how often a process that serves looks at the head.
const auditLook = time.Minute

// watchAudit verifies the log once and then notes its head in the stream of the
// process's own log, each time it has moved: what leaves the machine with that
// stream is out of reach of who can write to the database. A head that it has
// noted and that is gone is an alarm.
func (a *App) watchAudit(ctx context.Context) {
	report, err := a.verifyAudit(ctx, true)
	switch {
	case err == nil && report.Tampered():
		a.alarmAudit(report.Findings[0]) // those of the log come first
	case err == nil && len(report.Findings) > 0:
		a.config.Log.Warn("an archive cannot vouch for the audit log", "what", report.Findings[0].Text, "next", "patra audit verify")
	}
	ticker := time.NewTicker(auditLook)
	defer ticker.Stop()
	for last := (audit.Entry{}); ; {
		if last, err = a.noteHead(ctx, last); err != nil && ctx.Err() == nil {
			a.config.Log.Warn("the audit log could not be looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// noteHead tells a head that is new, and an alarm if the one before it is gone.
func (a *App) noteHead(ctx context.Context, last audit.Entry) (audit.Entry, error) {
	if last.ID > 0 {
		now, err := a.store.AuditEntry(ctx, last.ID)
		switch {
		case err != nil && !errors.Is(err, fault.ErrNotFound):
			return last, err
		case err != nil || now.Hash != last.Hash || !now.Fits():
			a.alarmAudit(audit.Finding{Problem: audit.Lost, ID: last.ID, Hash: last.Hash, Text: "an entry that this process has seen is gone or was changed"})
			last = audit.Entry{}
		}
	}
	head, err := a.auditHead(ctx)
	if err != nil || head.Hash == last.Hash {
		return last, err
	}
	a.config.Log.Info("audit log", "entry", head.ID, "head", head.Hash)
	return head, nil
}

func (a *App) alarmAudit(f audit.Finding) {
	a.config.Log.Error("the audit log was tampered with", "problem", f.Problem, "entry", f.ID, "hash", f.Hash, "what", f.Text, "next", "patra audit verify")
}
