package retention

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/patra-ingest/patra/internal/core/coverage"
	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/window"
)

// Snapshot stands in a ledger for the events up to one of them: the state they
// fold to, and the file that holds them.
type Snapshot struct {
	Cursor string `json:"cursor"` // its namespace, so that a snapshot fits no other ledger
	To     int64  `json:"toEvent"`
	Events int64  `json:"events"` // in the file, the snapshot before them counted
	CursorState
	File     string `json:"file"`
	SHA256   string `json:"sha256"`
	Previous string `json:"previous,omitempty"` // signature of the snapshot before it
}

// CursorState is what a ledger says of its cursor.
type CursorState struct {
	State coverage.State  `json:"state"`
	Left  []window.Window `json:"left,omitempty"` // ranges an operator left behind
}

// Signed is a snapshot with its signature: the hash of its canonical form. It
// covers the hash of the file and the signature before it, so that whoever
// changes a state, a file or an older snapshot must change every signature after
// it, and the one that the archive's own row repeats.
type Signed struct {
	Snapshot
	Signature string `json:"signature"`
}

// Sign signs.
func (s Snapshot) Sign() (Signed, error) {
	if s.State.Segments == nil {
		s.State.Segments = []coverage.Segment{}
	}
	signature, err := fingerprint.Of(s)
	if err != nil {
		return Signed{}, fmt.Errorf("sign snapshot: %w", err)
	}
	return Signed{s, signature}, nil
}

// Check reports whether the signature is that of the snapshot.
func (s Signed) Check() error {
	again, err := s.Snapshot.Sign()
	if err != nil {
		return err
	}
	if again.Signature != s.Signature {
		return fmt.Errorf("the signature of the snapshot at event %d does not fit it: it was changed after it was written", s.To)
	}
	return nil
}

// ReadSigned reads a snapshot as its event keeps it.
func ReadSigned(text []byte) (s Signed, err error) {
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read snapshot: %w", err)
	}
	if len(s.State.Segments) == 0 {
		s.State.Segments = nil // as a fold leaves it
	}
	return s, nil
}

// Namespace names the ledger of a namespace.
func Namespace(source, operation, field, scope, key string) string {
	return strings.Join([]string{source, operation, field, scope, key}, " ")
}
