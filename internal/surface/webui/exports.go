package webui

import (
	"context"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/wording"
)

// Exports makes files of records and of black boxes, while nobody waits for them. Browsers
// fetch the files from the interface for programs.
type Exports interface {
	Ask(ctx context.Context, w export.Wish, by ingest.Act) (export.Asked, error)
	List(ctx context.Context, f view.Filter, actor string) ([]export.Job, error)
	Show(ctx context.Context, id int64) (export.Job, error)
	Cancel(ctx context.Context, id int64, by ingest.Act) (export.JobEnded, error)
}

// exportRow is an export in a list.
type exportRow struct {
	export.Job
	Ready   bool // its file can be fetched
	Expired bool // its file is gone
	Ends    bool // it can be stopped, or its file removed
}

// listExports shows what the caller asked for; an admin sees what everybody did.
func (s *site) listExports(a *ask) (page, error) {
	source, err := a.wantedSource()
	if err != nil {
		return page{}, err
	}
	actor := a.Caller.Actor()
	if a.Caller.May(access.Admin) {
		actor = ""
	}
	jobs, err := readSeen(a, view.Filter{Source: source}, func(j export.Job) int64 { return j.ID }, func(ctx context.Context, f view.Filter) ([]export.Job, error) {
		return s.Work.Exports.List(ctx, f, actor)
	})
	if err != nil {
		return page{}, err
	}
	body, open := listed[exportRow]{Older: jobs.Older, Begun: jobs.Begun}, 0
	for _, j := range jobs.Rows {
		if j.Status.Open() {
			open++
		}
		body.Rows = append(body.Rows, exportRow{j, j.Ready(a.Now), j.Status == export.JobSucceeded && !j.Ready(a.Now), j.Status.Open() || j.Ready(a.Now)})
	}
	p := page{Template: "exports", Title: "Nothing was exported yet", Body: body}
	if len(body.Rows) > 0 {
		p.Title = wording.Count(len(body.Rows), "newest export")
		if open > 0 {
			p.Title += fmt.Sprintf(", %d not ended", open)
		}
	}
	return p, nil
}

// wishOf reads what an address asks to export.
func (s *site) wishOf(a *ask) (w export.Wish, err error) {
	batch, err := a.numberOf("batch")
	if err != nil {
		return w, err
	}
	if batch > 0 {
		b, err := s.Work.Tasks.Batch(a.Context(), batch)
		if err == nil && !a.Caller.Sees(b.Source) {
			err = unseen("batch", batch)
		}
		return export.Wish{Kind: export.JobBlackBox, Question: export.Question{Batch: batch}}, err
	}
	w = export.Wish{Kind: export.JobData, Question: export.Question{Format: export.Format(a.FormValue("format")), Packing: export.Packing(a.FormValue("compress"))}}
	if w.Question.Format == "" {
		w.Question.Format = export.JSONL
	}
	w.Source, w.Endpoint, _ = strings.Cut(strings.TrimSpace(a.FormValue("source")), "/")
	if !a.Caller.Sees(w.Source) {
		return w, unseen("source", w.Source)
	}
	return w, nil
}

var exportsWay = []crumb{{"Exports", "/exports"}}

// askExport asks for a file of records, or of the black box of a batch.
func (s *site) askExport(a *ask) (page, error) {
	w, err := s.wishOf(a)
	if err != nil {
		return page{}, err
	}
	command := fmt.Sprintf("patra batch export %d --reason TEXT", w.Question.Batch)
	if w.Kind == export.JobData {
		command = fmt.Sprintf("patra data export %s --format %s --out FOLDER", strings.TrimSuffix(w.Source+"/"+w.Endpoint, "/"), w.Question.Format)
	}
	return perform(a, act[export.Asked]{
		do:    func(ctx context.Context, by ingest.Act) (export.Asked, error) { return s.Work.Exports.Ask(ctx, w, by) },
		facts: askedFacts, changes: func(export.Asked) bool { return true },
		means:    "The file is made while you go on. It can be fetched by you alone, and by admins, until it expires; each time it is fetched stands in the audit log.",
		question: "Export this?", done: "The export is on its way", command: command, button: "Export", back: crumb{"Show exports", "/exports"}, way: exportsWay,
	})
}

func askedFacts(j export.Asked) []fact {
	if j.Kind == export.JobBlackBox {
		return []fact{{"black box of", fmt.Sprintf("batch %d of %s/%s", j.Question.Batch, j.Source, j.Endpoint)}}
	}
	packed := "not compressed"
	if j.Question.Packing != export.Plain {
		packed = string(j.Question.Packing)
	}
	return []fact{{"records of", j.Source + "/" + j.Endpoint}, {"format", string(j.Question.Format) + ", " + packed}}
}

// cancelExport stops an export, or removes its file.
func (s *site) cancelExport(a *ask) (page, error) {
	id, err := a.number()
	if err != nil {
		return page{}, err
	}
	j, err := s.Work.Exports.Show(a.Context(), id)
	if err == nil && !a.Caller.Owns(j.Source, j.Actor) {
		err = unseen("export", id)
	}
	if err != nil {
		return page{}, err
	}
	return perform(a, act[export.JobEnded]{
		do: func(ctx context.Context, by ingest.Act) (export.JobEnded, error) {
			return s.Work.Exports.Cancel(ctx, id, by)
		},
		facts: func(d export.JobEnded) []fact {
			return []fact{{"export", fmt.Sprintf("%d of %s/%s", d.ID, d.Source, d.Endpoint)}, {"asked for by", d.Actor}}
		},
		changes: func(d export.JobEnded) bool { return d.Changed }, means: "If it is still being made it stops. Its file is removed.",
		question: fmt.Sprintf("Cancel export %d?", id), done: fmt.Sprintf("Export %d is cancelled", id), button: "Cancel the export", back: crumb{"Show exports", "/exports"}, way: exportsWay,
	})
}
