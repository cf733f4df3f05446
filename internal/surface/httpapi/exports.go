package httpapi

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/patra-ingest/patra/internal/core/access"
	"github.com/patra-ingest/patra/internal/core/duration"
	"github.com/patra-ingest/patra/internal/core/export"
	"github.com/patra-ingest/patra/internal/core/fault"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/view"
)

// Exports makes files of records and of black boxes, while nobody waits for them.
type Exports interface {
	Ask(ctx context.Context, w export.Wish, by ingest.Act) (export.Asked, error)
	List(ctx context.Context, f view.Filter, actor string) ([]export.Job, error)
	Show(ctx context.Context, id int64) (export.Job, error)
	Cancel(ctx context.Context, id int64, by ingest.Act) (export.JobEnded, error)
	// Open opens the file of an export. The audit log has the read before anything of it
	// leaves the house.
	Open(ctx context.Context, j export.Job, by ingest.Act) (io.ReadSeekCloser, error)
}

// exportIn is an export that is asked for. No name of a file is a field (R6).
type exportIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"64" doc:"Name of this request: called again with the same name, there is one export (R11)."`
	Body struct {
		Signed
		Kind      string   `json:"kind,omitempty" enum:"DATA,BLACK_BOX" default:"DATA" doc:"DATA: records; BLACK_BOX: what is known of a batch."`
		Source    string   `json:"source,omitempty" maxLength:"64" doc:"Of DATA: whose records."`
		Endpoint  string   `json:"endpoint,omitempty" maxLength:"64" doc:"Default: the only one."`
		Format    string   `json:"format,omitempty" enum:"jsonl,csv" default:"jsonl"`
		Compress  string   `json:"compress,omitempty" enum:"gzip,zstd"`
		State     string   `json:"state,omitempty" enum:"active,gone,all" doc:"Default active; all with since."`
		Since     string   `json:"since,omitempty" maxLength:"1024" doc:"Only what changed since: the cursor of an earlier export."`
		Fields    []string `json:"fields,omitempty" maxItems:"200" doc:"Only these mapped fields."`
		Payload   bool     `json:"withPayload,omitempty" doc:"Also the item as the upstream sent it."`
		RawCells  bool     `json:"rawCells,omitempty" doc:"CSV: leave cells that a spreadsheet takes for formulas as they are."`
		Batch     int64    `json:"batch,omitempty" minimum:"1" doc:"Of BLACK_BOX: the id of the batch."`
		UsableFor string   `json:"usableFor,omitempty" maxLength:"32" doc:"Of BLACK_BOX: how long the bundle may be used, such as P7D, the default."`
	}
}

func (in *exportIn) wish() (w export.Wish, err error) {
	b := in.Body
	w = export.Wish{Kind: export.JobKind(b.Kind), Key: in.Key, Source: b.Source, Endpoint: b.Endpoint}
	if w.Kind == export.JobBlackBox {
		if b.Batch == 0 || b.Source+b.Endpoint+b.Since+b.State+b.Compress != "" || len(b.Fields) > 0 || b.Payload || b.RawCells {
			return w, fmt.Errorf("%w: a black box is that of a batch: name batch, and nothing of an export of records", fault.ErrInvalid)
		}
		w.Question.Batch = b.Batch
		if b.UsableFor != "" {
			if w.Question.UsableFor, err = duration.Parse(b.UsableFor); err != nil {
				return w, fmt.Errorf("%w: usableFor: %w", fault.ErrInvalid, err)
			}
		}
		return w, nil
	}
	if b.Source == "" || b.Batch != 0 || b.UsableFor != "" {
		return w, fmt.Errorf("%w: an export of records needs source, and neither batch nor usableFor", fault.ErrInvalid)
	}
	w.Question = export.Question{
		Format: export.Format(b.Format), Packing: export.Packing(b.Compress), States: export.States(b.State), Since: b.Since, Fields: b.Fields, Payload: b.Payload, RawCells: b.RawCells,
	}
	return w, nil
}

func (a *api) registerExports() {
	act(a, access.Reader, "ask-export", "/v1/exports", "exports", "Ask for a file of records or of a black box; it is made while you wait elsewhere",
		func(ctx context.Context, who access.Caller, in *exportIn) (out export.Asked, err error) {
			w, err := in.wish()
			if err != nil {
				return out, err
			}
			if w.Kind == export.JobBlackBox {
				_, err = a.seenBatch(ctx, who, w.Question.Batch)
			} else if !who.Sees(w.Source) {
				err = errUnseen("source", w.Source)
			}
			if err != nil {
				return out, err
			}
			return a.Exports.Ask(ctx, w, in.Body.act(who))
		})
	get(a, reader("list-exports", "/v1/exports", "exports", "Exports that you asked for, newest first; for an admin those of everybody"),
		func(ctx context.Context, who access.Caller, in *ByStatus) (view.List[export.Job], error) {
			actor := who.Actor()
			if who.May(access.Admin) {
				actor = ""
			}
			return readPage(ctx, who, view.Filter{Source: in.Source, Status: in.Status}, in.Page, func(j export.Job) int64 { return j.ID }, func(ctx context.Context, f view.Filter) ([]export.Job, error) {
				return a.Exports.List(ctx, f, actor)
			})
		})
	get(a, reader("show-export", "/v1/exports/{id}", "exports", "How far an export has come"),
		func(ctx context.Context, who access.Caller, in *ByID) (export.Job, error) {
			return a.ownExport(ctx, who, in.ID)
		})
	act(a, access.Reader, "cancel-export", "/v1/exports/{id}/cancel", "exports", "Stop an export, or remove its file",
		func(ctx context.Context, who access.Caller, in *signedByID) (out export.JobEnded, err error) {
			if _, err := a.ownExport(ctx, who, in.ID); err != nil {
				return out, err
			}
			return a.Exports.Cancel(ctx, in.ID, in.Body.act(who))
		})
	a.registerDownload()
}

// ownExport reads an export that the caller asked for; an admin may have those of others. Any
// other one does not exist (R4).
func (a *api) ownExport(ctx context.Context, who access.Caller, id int64) (export.Job, error) {
	j, err := a.Exports.Show(ctx, id)
	if err == nil && !who.Owns(j.Source, j.Actor) {
		return export.Job{}, errUnseen("export", id)
	}
	return j, err
}

func (a *api) registerDownload() {
	o := reader("read-export", "/v1/exports/{id}/file", "exports", "The file of an export, until it expires; each read stands in the audit log")
	o.Audited, o.errors = true, append(o.errors, http.StatusConflict)
	sendFile(a, o, "The file; Range and If-None-Match are served", func(ctx context.Context, who access.Caller, id int64) (sentFile, error) {
		j, err := a.ownExport(ctx, who, id)
		if err != nil {
			return sentFile{}, err
		}
		file, err := a.Exports.Open(ctx, j, a.readBy(ctx, who))
		return sentFile{name: fmt.Sprintf("export-%d-%s", j.ID, j.File), mark: `"` + j.SHA256 + `"`, made: j.FinishedAt, content: file}, err
	})
}
