package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/patra-ingest/patra/internal/core/audit"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/driver/archive"
)

// auditAtOnce is how many entries one query of a verification reads.
const auditAtOnce = 1000

// VerifyAudit holds the audit log against itself, against the heads that archives
// have noted, and against those that were noted elsewhere (A37).
func (a *App) VerifyAudit(ctx context.Context, noted ...audit.Noted) (audit.Report, error) {
	if a.config.Archive.Dir != "" {
		files, err := archive.Open(a.config.Archive.Dir)
		if err != nil {
			return audit.Report{}, err
		}
		heads, err := files.Heads(ctx)
		if err != nil {
			return audit.Report{}, err
		}
		noted = append(noted, heads...)
	}
	chain, after := audit.NewChain(noted...), int64(0)
	for {
		entries, err := a.Store.AuditChain(ctx, after, auditAtOnce)
		if err != nil {
			return audit.Report{}, err
		}
		for _, e := range entries {
			chain.Add(e)
			after = e.ID
		}
		if len(entries) < auditAtOnce {
			return chain.Report(), nil
		}
	}
}

// auditHead is the newest entry; the root where there is none.
func (a *App) auditHead(ctx context.Context) (audit.Entry, error) {
	newest, err := a.Store.AuditLog(ctx, view.Filter{Limit: 1})
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
	report, err := a.VerifyAudit(ctx)
	if err == nil && len(report.Findings) > 0 {
		a.alarmAudit(report.Findings[0])
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
		now, err := a.Store.AuditEntry(ctx, last.ID)
		switch {
		case err != nil && !errors.Is(err, fault.ErrNotFound):
			return last, err
		case err != nil || now.Hash != last.Hash || now.Sum() != last.Hash:
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
