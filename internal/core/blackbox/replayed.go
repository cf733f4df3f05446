package blackbox

// Replayed is what came of doing the batches of a run or a task again (§5.9).
type Replayed struct {
	Identical int             `json:"identical"`
	Differ    int             `json:"differ"`
	NotKept   int             `json:"notKept"` // their bodies are not there any more
	Items     []ReplayedBatch `json:"items"`
	More      bool            `json:"more"`
	Next      string          `json:"next,omitempty"`
}

// ReplayedBatch is one batch that was done again.
type ReplayedBatch struct {
	BatchID int64 `json:"batchId"`
	RunID   int64 `json:"runId"`
	No      int   `json:"batchNo"`
	// Report is nil where the batch could not be done again; Why says why.
	Report *Report `json:"report,omitempty"`
	Why    string  `json:"why,omitempty"`
}

// Add counts a batch.
func (r *Replayed) Add(b ReplayedBatch) {
	switch {
	case b.Report == nil:
		r.NotKept++
	case b.Report.Identical:
		r.Identical++
	default:
		r.Differ++
	}
	r.Items = append(r.Items, b)
}
