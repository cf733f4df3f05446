package ingest

import (
	"errors"
	"fmt"
	"time"

	"github.com/patra-ingest/patra/internal/core/files"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/health"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/window"
)

// BatchCommit is one page, decided and ready to be stored in one transaction.
type BatchCommit struct {
	Lease     Lease
	Extend    time.Duration // the commit also extends the lease by this much
	Lineage   Lineage       // up to the run
	Partition Partition
	DatasetID int64
	ExprID    int64

	No          int // 1, 2, … within the run
	Pass        int // 1, 2, …: how often the slice was started over
	PageNo      int
	PageSize    int
	BeforeToken string
	AfterToken  string

	Records []record.Incoming // one per id
	Rejects []record.Reject
	// Accounted for before the store was asked (I4).
	Seen, Duplicate, Outside, Excluded int
	OutsideKept                        int           // of the records and duplicates
	Passed                             window.Window // as in Work: changes in it came late
	Swept                              time.Time     // changes before it came with a parent that should have changed too; zero: none did

	Request, Response []byte         // evidence, redacted JSON
	Raw               string         // reference of the kept body, if it was kept (D§5.24)
	Refreshed         *Refreshed     // of an UPDATE
	SeenIDs           *SeenIDs       // of a list that is read whole
	Listed            []files.Listed // of a listing of files
	Checkpoint        Checkpoint
	RunStats          RunStats // of the run so far, this batch's decisions not included
	Exchange          Exchange // how it was had
	Answers           bool     // the first page of a run that looks whether its upstream is back

	// Packed is what Store.PackBatch made of the records; without it the commit packs.
	Packed []PackedPart
	// Rest is what Store.LeaveOutItems left of the answer, which has AnswerBytes and the hash
	// Raw; nil: the answer is kept whole, elsewhere, or not at all.
	Rest        []byte
	AnswerBytes int
}

// ErrItemsStored refuses to store an answer without its items, because not all of them become
// versions of its batch: some were stored before. It has to be kept whole, and the batch
// committed again. Nothing was written.
var ErrItemsStored = errors.New("not all items of the answer are stored by this batch")

// PackedPart is a run of the records of a batch, packed for a frame of the database before
// it is known what changes. Of a run that lies in the answer as it is packed, the same
// bytes serve the kept answer: see decision 110.
type PackedPart struct {
	First, Count int // of the records
	Content      []byte
	Codec        string
	Between      string // what stands between two items

	Begin, End int    // where items lie in the answer
	Blocks     []byte // of zstd, which unpack to that; empty: the answer has other bytes there
}

// BatchResult is what a commit did, or what the same commit did before.
type BatchResult struct {
	BatchID int64
	Stats   BatchStats
	Until   time.Time // new end of the lease
	Cancel  bool      // as in Held
	Pause   bool
	// Repeated: it was stored before, and its answer lost.
	Repeated bool
}

// Key returns the identity of a batch (D§5.5).
func (b BatchCommit) Key() string { return batchKey(b.Lease, b.No) }

func batchKey(l Lease, no int) string {
	return fingerprint.Key("batch", fmt.Sprint(l.TaskID), fmt.Sprint(l.Epoch), fmt.Sprint(no))
}

// FailedBatch is a page that could not be had: what is kept to explain it.
type FailedBatch struct {
	No, Pass, PageNo  int
	BeforeToken       string
	Error             string
	Request, Response []byte
	Raw               string // as in BatchCommit
	Exchange          Exchange
}

// Finish ends a run.
type Finish struct {
	Lease   Lease
	Lineage Lineage // up to the last batch that was stored
	Outcome Outcome
	Failed  *FailedBatch
	Remarks []health.Remark // what was done about conditions
	// CircuitAfter is how many failed runs open the breaker; zero: the usual number.
	CircuitAfter int
	// Generation is what a reading of a whole list came to; nil: it is none, or goes on.
	Generation *GenerationEnd
	// Lost are the parents of a run that failed, where all others of the run were read.
	Lost []LostParent
	// Refusals is what the run learned of parts of the list that the upstream refuses.
	Refusals Refusals
	// File is what became of the file that the slice is; nil: it is none, or is not read.
	File *FileEnd
}

// FailedKey returns the identity of a failed batch.
func (f Finish) FailedKey() string { return batchKey(f.Lease, f.Failed.No) }
