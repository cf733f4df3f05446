package ingest

import (
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/record"
	"github.com/patra-ingest/patra/internal/core/refresh"
)

// What the cursors of an UPDATE follow.
const (
	refreshedKey = "refresh_checked_at" // turns, or the time that was read again (W§5.2)
	batchKeyName = "batch_id"           // batches whose records were made anew
	signalKey    = "signal_id"          // signals that were followed
	rejectKey    = "quarantine_id"      // rejected items that were read again
)

// RefreshNamespace returns where an UPDATE keeps what it has looked at: by policy
// and what else tells one such update from another, so that two of them never take
// each other's progress for their own (D§5.8). It never touches the watermark of
// HARVEST (I6).
func RefreshNamespace(d Dataset, policy refresh.Policy, of ...string) Namespace {
	n := Namespace{
		Source: d.Source, Operation: Update, CursorKey: refreshedKey, Scope: ScopeCustom,
		Key: fingerprint.Key(append([]string{d.Endpoint, string(policy)}, of...)...),
	}
	switch policy {
	case refresh.ByChange:
		n.CursorKey, n.Type = batchKeyName, CursorID
	case refresh.BySignal:
		n.CursorKey, n.Type = signalKey, CursorID
	case refresh.ByQuarantine:
		n.CursorKey, n.Type = rejectKey, CursorID
	}
	return n
}

// CandidateQuery is what an UPDATE by ids may look at, for counting.
type CandidateQuery struct {
	Dataset Dataset
	refresh.Spec
	Shares []refresh.Share // of STALE
}

// Candidates is how many there are, and between which numbers they lie: batches of
// EXPR, signals of SIGNAL, rejected items of QUARANTINE. From ≤ number < to.
type Candidates struct {
	Count    int64
	Exact    bool // counted, not extrapolated
	From, To int64
}

// CandidateLook asks for the next candidates of a slice.
type CandidateLook struct {
	DatasetID int64
	refresh.Spec
	From, To string    // bounds of the slice's range
	Before   time.Time // STALE: not looked at since before
	After    string    // where the last look ended; empty: the beginning
}

// CandidatePage is what a look found. Few or none were found if few of the records
// looked at are candidates; what counts is whether there is more to look at.
type CandidatePage struct {
	Found []Candidate
	Next  string // where the next look goes on
	Last  bool   // there is no next
}

// Candidate is a record to look at again.
type Candidate struct {
	ID      string
	Gone    bool      // it is a tombstone: that it does not come is no news
	Batch   int64     // EXPR: that brought what is stored
	Raw     string    // EXPR: where the answer of that batch is kept; empty if it was not
	Detail  bool      // EXPR: that answer came from a DETAIL endpoint
	FetchAt time.Time // EXPR: of what is stored; QUARANTINE: of what was rejected
	Reject  *Requeued // QUARANTINE: what was rejected
}

// Requeued is a rejected item that is read again.
type Requeued struct {
	Row    int64
	Hash   string // of the item
	Item   []byte // as the upstream sent it
	Index  int
	Reason record.Reason
	Detail bool // it came from a DETAIL endpoint
}

// Refreshed tells the store what an UPDATE learned besides the records.
type Refreshed struct {
	IDs    []string  // were looked at; their fate is in the records of the batch
	Failed []string  // were asked for, and the answer could not be read
	At     time.Time // when the upstream was asked; zero: it was not, only the mapping is new
	// Of an update of rejected items: those whose record is in the batch, and those
	// that nobody can read again, with why.
	Rows   []int64
	Unread []int64
	Why    string
}

// RefreshTally is what an UPDATE did.
type RefreshTally struct {
	Checked  int `json:"checked,omitempty"`  // records the upstream was asked about and answered
	Remapped int `json:"remapped,omitempty"` // records mapped anew from kept answers
	Merged   int `json:"merged,omitempty"`   // of those that are gone: linked to the one that took their place
	Left     int `json:"left,omitempty"`     // records nobody can ask for, whose answers are not kept any more
}

// Add sums two of them.
func (t RefreshTally) Add(o RefreshTally) RefreshTally {
	return RefreshTally{t.Checked + o.Checked, t.Remapped + o.Remapped, t.Merged + o.Merged, t.Left + o.Left}
}

// MissTally is what became of ids that were asked for and did not come.
type MissTally struct {
	Missing   int `json:"missing,omitempty"`   // stored, and not taken for deleted yet
	NotFound  int `json:"notFound,omitempty"`  // never stored
	StillGone int `json:"stillGone,omitempty"` // tombstones
}

// Add sums two of them.
func (t MissTally) Add(o MissTally) MissTally {
	return MissTally{t.Missing + o.Missing, t.NotFound + o.NotFound, t.StillGone + o.StillGone}
}

// Since returns what was added since it was another.
func (t MissTally) Since(before MissTally) MissTally {
	return MissTally{t.Missing - before.Missing, t.NotFound - before.NotFound, t.StillGone - before.StillGone}
}

// Total returns how many ids these are.
func (t MissTally) Total() int { return t.Missing + t.NotFound + t.StillGone }

// NewSignal names a record to look at again.
type NewSignal struct {
	ID           string
	QuarantineID int64 // of the reject it is about; zero: none
}

// SignalsAdded is what became of signals: those that stood there open already are
// not added again. The signals that stand for all of them are from ≤ number < to.
type SignalsAdded struct {
	Added    int   `json:"added"`
	Known    int   `json:"known"`
	From, To int64 `json:"-"`
}

// Add sums two chunks.
func (a SignalsAdded) Add(o SignalsAdded) SignalsAdded {
	sum := SignalsAdded{Added: a.Added + o.Added, Known: a.Known + o.Known, From: a.From, To: max(a.To, o.To)}
	if sum.From == 0 || o.From != 0 && o.From < sum.From {
		sum.From = o.From
	}
	return sum
}
