package retention

import (
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/view"
	"github.com/patra-ingest/patra/internal/core/window"
)

// BatchContext is an archived batch with what it was done for, as its plan, slice
// and task say: enough to do it again.
type BatchContext struct {
	Batch           view.Batch
	BatchKey        string
	PageSize        int
	Slice           json.RawMessage // its specification
	Window          window.Window
	SliceSignature  string
	ExprHash        string
	ScheduleID      int64
	PartitionID     int64
	MappingID       int64
	Endpoint        string
	ExprProtoHash   string
	SpecFingerprint string
}

// contextColumns are what is read of the four rows; each has some of them.
type contextColumns struct {
	BatchKey        cell   `json:"idempotent_key"`
	PageSize        int    `json:"page_size"`
	Slice           cell   `json:"slice_spec"`
	From            *int64 `json:"window_from"`
	To              *int64 `json:"window_to"`
	SliceSignature  cell   `json:"slice_signature_hash"`
	ExprHash        cell   `json:"expr_hash"`
	ScheduleID      int64  `json:"schedule_instance_id"`
	PartitionID     int64  `json:"partition_id"`
	MappingID       int64  `json:"mapping_id"`
	Endpoint        cell   `json:"endpoint_name"`
	ExprProtoHash   cell   `json:"expr_proto_hash"`
	SpecFingerprint cell   `json:"spec_fingerprint"`
}

// ReadContext makes it of archived rows: those of the batch, and one each of its
// slice, task and plan.
func ReadContext(rows []Row) (out BatchContext, err error) {
	if out.Batch, err = ReadBatch(rows); err != nil {
		return out, err
	}
	missing := map[Table]bool{PlanTable: true, SliceTable: true, TaskTable: true, BatchTable: true}
	for _, r := range rows {
		var c contextColumns
		if err := json.Unmarshal(r.Columns, &c); err != nil {
			return out, fmt.Errorf("%s %d: %w", r.Table, r.ID, err)
		}
		switch delete(missing, r.Table); r.Table {
		case PlanTable:
			out.ScheduleID, out.PartitionID, out.MappingID, out.Endpoint, out.ExprProtoHash = c.ScheduleID, c.PartitionID, c.MappingID, string(c.Endpoint), string(c.ExprProtoHash)
		case SliceTable:
			out.Slice, out.SliceSignature, out.ExprHash = json.RawMessage(c.Slice), string(c.SliceSignature), string(c.ExprHash)
			out.Window = window.Window{From: momentOf(c.From), To: momentOf(c.To)}
		case TaskTable:
			out.SpecFingerprint = string(c.SpecFingerprint)
		case BatchTable:
			out.BatchKey, out.PageSize = string(c.BatchKey), c.PageSize
		}
	}
	for table := range missing {
		return out, fmt.Errorf("the archive has no row of %s for batch %d", table, out.Batch.ID)
	}
	return out, nil
}
