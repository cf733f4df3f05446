package retention

import (
	"encoding/json"
	"fmt"

	"github.com/patra-ingest/patra/internal/core/view"
)

// cell is a text of a row: as it is, or as base64 where it is no text.
type cell string

// UnmarshalJSON reads both forms; nothing is the empty text.
func (c *cell) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		var packed struct{ Base64 []byte }
		err := json.Unmarshal(raw, &packed)
		*c = cell(packed.Base64)
		return err
	}
	return json.Unmarshal(raw, (*string)(c))
}

// ReadBatch makes a batch of its archived rows: the batch itself and what is kept
// of its exchange.
func ReadBatch(rows []Row) (b view.Batch, err error) {
	for _, r := range rows {
		switch r.Table {
		case BatchTable:
			err = readBatchRow(r, &b)
		case EvidenceTable:
			err = readEvidence(r, &b)
		}
		if err != nil {
			return b, fmt.Errorf("batch %d: %w", r.BatchID, err)
		}
	}
	return b, nil
}

func readBatchRow(r Row, b *view.Batch) error {
	var c struct {
		No        int    `json:"batch_no"`
		Pass      int    `json:"pass"`
		Page      int    `json:"page_no"`
		Source    cell   `json:"provenance_code"`
		Operation cell   `json:"operation_code"`
		Status    cell   `json:"status_code"`
		Before    cell   `json:"before_token"`
		After     cell   `json:"after_token"`
		Stats     cell   `json:"stats"`
		Error     cell   `json:"error"`
		Committed *int64 `json:"committed_at"`
	}
	if err := json.Unmarshal(r.Columns, &c); err != nil {
		return err
	}
	b.ID, b.RunID, b.TaskID, b.SliceID, b.PlanID = r.ID, r.RunID, r.TaskID, r.SliceID, r.PlanID
	b.No, b.Pass, b.Page, b.Source, b.Operation, b.Status = c.No, c.Pass, c.Page, string(c.Source), string(c.Operation), string(c.Status)
	b.BeforeToken, b.AfterToken, b.Error, b.CommittedAt = string(c.Before), string(c.After), string(c.Error), momentOf(c.Committed)
	if c.Stats == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(c.Stats), &b.Stats); err != nil {
		return err
	}
	return b.ReadExchange([]byte(c.Stats))
}

func readEvidence(r Row, b *view.Batch) error {
	var c struct {
		Request  cell `json:"request"`
		Response cell `json:"response"`
		Raw      cell `json:"blob_ref"`
	}
	if err := json.Unmarshal(r.Columns, &c); err != nil {
		return err
	}
	if c.Request != "" {
		b.Request = json.RawMessage(c.Request)
	}
	if c.Response != "" {
		b.Response = json.RawMessage(c.Response)
	}
	b.Raw = string(c.Raw)
	return nil
}
