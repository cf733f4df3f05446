// Package blackbox is what is known of one batch (§14.9): its keys, the snapshot
// it was read under, what was asked, what came, what became of it, and the cursor
// events that followed. It renders the request anew, reads the answer anew,
// decides anew, and says what differs and whose doing that is.
//
// It never writes, sends or stores anything (I13): what it is not handed it does
// not know. It holds no secret, and its manifest names whatever was added to it.
package blackbox

import (
	"encoding/json"
	"time"

	"github.com/patra-ingest/patra/internal/core/exchange"
	"github.com/patra-ingest/patra/internal/core/ingest"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Keys name a batch and what it was done under (§14.2).
type Keys struct {
	ingest.Lineage
	BatchNo         int    `json:"batchNo"`
	Correlation     string `json:"correlationId"`
	BatchKey        string `json:"idempotentKey"`
	SpecFingerprint string `json:"specFingerprint"`
	ExprProtoHash   string `json:"exprProtoHash"`
	ExprHash        string `json:"exprHash"`
	SliceSignature  string `json:"sliceSignatureHash"`
}

// Box is the black box of one batch, its body apart.
type Box struct {
	Keys      Keys               `json:"keys"`
	Endpoint  string             `json:"endpoint"`
	Batch     view.Batch         `json:"batch"` // with the request and the answer as they were kept
	PageSize  int                `json:"pageSize,omitempty"`
	DatasetID int64              `json:"datasetId"`
	MappingID int64              `json:"mappingId"`
	Window    window.Window      `json:"window"`
	Slice     json.RawMessage    `json:"slice"` // its specification
	Written   []Written          `json:"written"`
	Heads     []Head             `json:"heads,omitempty"` // of records it left as they were
	Rejects   []Rejected         `json:"rejects,omitempty"`
	Events    []view.CursorEvent `json:"events,omitempty"`
	Snapshot  []byte             `json:"-"` // canonical; a part of its own in a bundle
	Scrubbed  bool               `json:"-"` // its body was masked when it was exported
}

// Written is a version of a record that the batch wrote.
type Written struct {
	ID        string          `json:"id"`
	Version   int             `json:"version"`
	Action    record.Action   `json:"action,omitempty"` // empty: nothing is left that tells
	UpdatedAt time.Time       `json:"updatedAt,omitzero"`
	FetchAt   time.Time       `json:"fetchedAt"`
	Fields    json.RawMessage `json:"fields,omitempty"`
}

// Head is a stored record as it is now, and which batch wrote it.
type Head struct {
	ID            string       `json:"id"`
	BatchID       int64        `json:"batchId"`
	Version       int          `json:"version"`
	UpdatedAt     time.Time    `json:"updatedAt,omitzero"`
	FetchAt       time.Time    `json:"fetchedAt"`
	SourceVersion int64        `json:"sourceVersion,omitempty"`
	ContentHash   []byte       `json:"contentHash"`
	State         record.State `json:"state"`
	MappingID     int64        `json:"mappingId"`
}

// Rejected is an item that the batch put into quarantine.
type Rejected struct {
	Key        string        `json:"key"`
	ProviderID string        `json:"providerId,omitempty"`
	Reason     record.Reason `json:"reason"`
	Path       string        `json:"path,omitempty"`
	Index      int           `json:"index"`
}

func (h Head) recordHead() *record.Head {
	return &record.Head{
		ProviderID: h.ID, UpdatedAt: h.UpdatedAt, SourceVersion: h.SourceVersion, ContentHash: record.StoredDigest(h.ContentHash), FetchAt: h.FetchAt, Version: h.Version,
		State: h.State, MappingID: h.MappingID,
	}
}

// Request returns the request as it was kept; nil if none was sent.
func (b *Box) Request() *exchange.RequestDigest {
	var kept exchange.RequestDigest
	if json.Unmarshal(b.Batch.Request, &kept) != nil || kept.URL == "" {
		return nil
	}
	return &kept
}

// Response returns the answer as it was kept; nil if none came.
func (b *Box) Response() *exchange.ResponseDigest {
	var kept exchange.ResponseDigest
	if json.Unmarshal(b.Batch.Response, &kept) != nil || kept.Status == 0 {
		return nil
	}
	return &kept
}

// Answer returns the kept answer with its body. What was answered without a body,
// and what was read from an answer to another batch, counts as a success.
func (b *Box) Answer(body []byte) *exchange.Response {
	out := &exchange.Response{Status: 200, Header: exchange.Header{}, Body: body}
	if kept := b.Response(); kept != nil {
		out.Status = kept.Status
		for name, value := range kept.Headers {
			out.Header.Set(name, value)
		}
	}
	return out
}

// Failed reports that the page could not be had.
func (b *Box) Failed() bool { return b.Batch.Status == string(ingest.BatchFailed) }
