package integrity

import "github.com/patra-ingest/patra/internal/core/record"

// BrokenFrame is a frame of versions that does not fit its hashes.
type BrokenFrame struct {
	ID       int64  // of its first version
	Why      string // it is broken
	Mendable bool   // its table proves what its row must say: nothing is lost
	Versions []Lost // nil: its table is damaged, so nobody knows what is in it
}

// Lost is a version whose content is damaged.
type Lost struct {
	Body   int64
	Batch  int64 // that stored it
	Record record.Key
}

// Content is what a version holds.
type Content struct {
	Item, Fields []byte
	Parts        []record.Part // values of the fields, as they were read
}

// Remedy is what became of a broken frame, or would.
type Remedy string

// The remedies.
const (
	Mended   Remedy = "MENDED"    // its row says again what its table proves
	Healed   Remedy = "HEALED"    // its content was read again from kept answers, and fits its hash
	AskAgain Remedy = "ASK_AGAIN" // its records take whatever their source says next
	GivenUp  Remedy = "GIVEN_UP"  // no record has its current version in it any more: it was removed
	Left     Remedy = "LEFT"      // nothing was done
)

// Treated is a broken frame with what became of it.
type Treated struct {
	Frame    int64    `json:"frame"`
	Remedy   Remedy   `json:"remedy"`
	Versions int      `json:"versions"` // in it; 0: unknown
	Why      string   `json:"why"`
	Not      string   `json:"notHealed,omitempty"` // why kept answers do not heal it
	Current  int      `json:"current"`             // records whose current version is in it
	Sources  []string `json:"sources,omitempty"`   // that they are of
}

// Treatment is what healing did, or would.
type Treatment struct {
	DryRun bool      `json:"dryRun"`
	Frames []Treated `json:"frames"`
}

// Left counts the frames that are still broken.
func (t *Treatment) Left() (n int) {
	for _, f := range t.Frames {
		if f.Remedy == Left || f.Remedy == AskAgain {
			n++
		}
	}
	return n
}
