// Package record decides which version of a record wins (D§5.13), what makes
// an item unusable, and which identity its change events carry.
//
// Decide is pure because the store calls it inside the commit transaction. It
// must never look at anything but the stored head and the incoming item.
package record

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
)

// MaxIDBytes is the longest provider id we store. Longer ids are rejected, not cut.
const MaxIDBytes = 1024

// State of a record.
type State string

// States.
const (
	Active State = "ACTIVE"
	Gone   State = "GONE"
)

// Head is what is stored of a record's current version.
type Head struct {
	ProviderID    string
	UpdatedAt     time.Time // zero: the source gave none
	SourceVersion int64     // declared version; zero: none
	ContentHash   Digest
	FetchAt       time.Time
	Version       int // our own counter, part of the event identity
	BodyID        int64
	State         State
	MappingID     int64
	// MissingSince is when the upstream was first asked for it by its id and did not
	// have it, and has not been seen with it since; of a tombstone: since when it has
	// been away. Zero: it is not missing.
	MissingSince time.Time
}

// Incoming is one item as extracted from a page.
type Incoming struct {
	ProviderID    string
	UpdatedAt     time.Time
	UpdatedBefore time.Time // end of what the stamp says: of its day, if it is a date; zero: the stamp is exact
	SourceVersion int64
	ContentHash   Digest
	FetchAt       time.Time // store clock, taken before the request was sent
	MappingID     int64
	Gone          bool
	Dateless      bool   // of one that is gone: only FetchAt orders it, so it takes no date over from what it removes
	Confirmed     bool   // of one that is missed: enough readings of the whole list lack it
	Missed        bool   // it was asked for by its id and did not come: there is nothing but the id; see FateOf
	MergedInto    string // id of the record that took its place; only of one that is gone
	Remap         bool   // what was stored under another mapping is mapped anew; see Remaps
	FillOnly      bool   // of a stored record it may only fill what is empty; see Fills
	Fields        []byte // mapped output fields, JSON
	Parts         []Part // values of Fields, in their order; none: unknown
	Payload       []byte // the item as the upstream sent it
	Offset        int    // where Payload begins in the answer, if it is a part of it
}

// Part is a value of mapped fields, and where it is likely to lie in the item. Who uses
// it looks whether it does.
type Part struct {
	Begin, End int32 // in the fields
	Place      int32 // in the item; below 0: nowhere
}

// Key is the storage key of a provider id: the first 16 bytes of its SHA-256.
// The id itself is stored beside it and compared, so a collision is detected.
type Key [16]byte

// KeyOf computes the key.
func KeyOf(providerID string) Key {
	sum := sha256.Sum256([]byte(providerID))
	return Key(sum[:16])
}

// Digest tells whether two contents are the same: the first 16 bytes of the SHA-256 of an item
// in canonical form. Heads of older programs have all 32 (decision 164).
type Digest [16]byte

// DigestOf computes the digest of an item in canonical form.
func DigestOf(canonical []byte) Digest {
	sum := sha256.Sum256(canonical)
	return Digest(sum[:16])
}

// StoredDigest takes over what is stored of a content, by this program or an older one.
func StoredDigest(stored []byte) (d Digest) {
	copy(d[:], stored)
	return d
}

// Action is what to do with an incoming item.
type Action string

// Actions. Touch is an unchanged record whose stamp moved: nothing is rewritten
// or published, only the head's stamp follows (Inherit says to what). Remap is one
// whose new mapping gives the same fields: only the head says so.
const (
	Insert    Action = "INSERT"
	Update    Action = "UPDATE"
	Remove    Action = "REMOVE"
	Unchanged Action = "UNCHANGED"
	Touch     Action = "TOUCH"
	Stale     Action = "STALE"
	Remap     Action = "REMAP"
	Miss      Action = "MISS" // nothing came, and the record stays as it is; see FateOf
)

// Publishes reports whether the action leaves an outbox row (I9).
func (a Action) Publishes() bool { return a == Insert || a == Update || a == Remove }

// Decide compares an incoming item with the stored head; nil means not stored. A
// deletion is remembered also of a record that was never stored: else an older copy
// that arrives later would live (I3).
func Decide(stored *Head, in Incoming) Action {
	if in.Missed {
		if FateOf(stored, in) == Vanished {
			return Remove
		}
		return Miss
	}
	if stored == nil {
		if in.Gone {
			return Remove
		}
		return Insert
	}
	if Remaps(stored, in) {
		return Update
	}
	sameState := in.Gone == (stored.State == Gone)
	if sameState && (in.Gone || in.ContentHash == stored.ContentHash) {
		if movesStamp(stored, in) {
			return Touch
		}
		return Unchanged
	}
	if !isNewer(stored, in) {
		return Stale // I3
	}
	if in.Gone {
		return Remove
	}
	return Update
}

// Remaps reports whether the item is the stored one and was mapped differently then.
// A harvest leaves such a record alone (equal content is unchanged, D§5.13); an
// update maps it anew. It does not matter which of the two mappings is older: the
// one that is declared today is wanted.
func Remaps(stored *Head, in Incoming) bool {
	return in.Remap && !in.FillOnly && !in.Gone && !in.Missed && stored != nil && stored.State == Active && stored.MappingID != in.MappingID &&
		(in.ContentHash == stored.ContentHash || in.FetchAt.Equal(stored.FetchAt))
}

// movesStamp reports whether an equal item moves the head's stamp. Where the source
// gives no date the time we asked is the stamp: without moving it, an answer
// that was asked for in between and arrives late would win (I3).
func movesStamp(stored *Head, in Incoming) bool {
	if stored.UpdatedAt.IsZero() && in.UpdatedAt.IsZero() {
		return !in.FetchAt.Equal(stored.FetchAt) && isNewer(stored, in)
	}
	return in.UpdatedAt.After(stored.UpdatedAt)
}

// Inherit completes an item that is about to be written over the stored head,
// nil if there is none. What the item does not say about its age stays known:
// else an item without a date would let an older one with a date win next (I3). A deletion that a
// file announces is ordered by the date of the file alone: what a record says of its own age tells
// nothing about whether its deletion came later.
func Inherit(stored *Head, in Incoming) Incoming {
	if stored == nil {
		return in
	}
	if in.UpdatedAt.IsZero() && !in.Dateless || Remaps(stored, in) && in.UpdatedAt.Before(stored.UpdatedAt) {
		in.UpdatedAt = stored.UpdatedAt
	}
	if Remaps(stored, in) && in.FetchAt.Before(stored.FetchAt) {
		in.FetchAt = stored.FetchAt // it is the same item; somebody asked for it since
	}
	if in.SourceVersion == 0 && in.UpdatedAt.Equal(stored.UpdatedAt) {
		in.SourceVersion = stored.SourceVersion
	}
	return in
}

// isNewer orders two different contents: updatedAt, then the source's version,
// then when we asked, then the mapping. A criterion one side lacks is skipped. Of a record and
// its deletion that are equal in all of them, such as a file that has both, the deletion stands.
func isNewer(stored *Head, in Incoming) bool {
	if !stored.UpdatedAt.IsZero() && !in.UpdatedAt.IsZero() && !in.UpdatedAt.Equal(stored.UpdatedAt) {
		return in.UpdatedAt.After(stored.UpdatedAt)
	}
	if stored.SourceVersion != 0 && in.SourceVersion != 0 && in.SourceVersion != stored.SourceVersion {
		return in.SourceVersion > stored.SourceVersion
	}
	if !in.FetchAt.Equal(stored.FetchAt) {
		return in.FetchAt.After(stored.FetchAt)
	}
	if in.MappingID != stored.MappingID {
		return in.MappingID > stored.MappingID
	}
	return in.Gone && stored.State != Gone
}

// Dedupe keeps one item per id of a page, the one that wins over the others,
// in order of first appearance, and counts the rest.
func Dedupe(items []Incoming) (kept []Incoming, duplicates int) {
	at := make(map[string]int, len(items))
	kept = items // as long as there is no duplicate
	for n, in := range items {
		i, seen := at[in.ProviderID]
		if !seen {
			at[in.ProviderID] = n - duplicates
			if duplicates > 0 {
				kept = append(kept, in)
			}
			continue
		}
		if duplicates == 0 {
			kept = slices.Clone(items[:n]) // what the caller has stays as it is
		}
		duplicates++
		if isNewer(headOf(kept[i]), in) {
			kept[i] = in
		}
	}
	return kept, duplicates
}

func headOf(in Incoming) *Head {
	h := &Head{UpdatedAt: in.UpdatedAt, SourceVersion: in.SourceVersion, FetchAt: in.FetchAt, MappingID: in.MappingID, State: Active}
	if in.Gone {
		h.State = Gone
	}
	return h
}

// EventKey identifies a change event for ever (I9): the business key alone would
// let a broker swallow every later version.
func EventKey(source, endpoint, providerID string, version int) [sha256.Size]byte {
	return fingerprint.Sum(source, endpoint, providerID, strconv.Itoa(version))
}

// Reason says why an item was quarantined. The list is closed.
type Reason string

// Reasons.
const (
	MissingID     Reason = "MISSING_ID"
	LongID        Reason = "ID_TOO_LONG"
	BadID         Reason = "BAD_ID"
	BadUpdatedAt  Reason = "BAD_UPDATED_AT"
	MissingField  Reason = "MISSING_FIELD"
	IllegalValue  Reason = "ILLEGAL_VALUE" // of a field with response.allowed
	RepeatedID    Reason = "ID_REPEATED"   // another record of its answer has the id and another content
	BadItem       Reason = "BAD_ITEM"
	MappingFailed Reason = "MAPPING_FAILED"
	IDCollision   Reason = "ID_COLLISION"
	MissingDetail Reason = "MISSING_DETAIL" // found by a search, unknown to the detail endpoint
	DetailFailed  Reason = "DETAIL_FAILED"  // its detail alone makes the upstream fail
	ItemFailed    Reason = "ITEM_FAILED"    // a page with it alone makes the upstream fail
)

// Reject is an item that cannot be stored, with all that explains why (§11.8).
type Reject struct {
	Index      int    // position in the page
	ProviderID string // if it could be read
	Reason     Reason
	Path       string // where in the item
	Detail     string
	Raw        []byte
	FetchAt    time.Time // as of an item that is stored; zero: unknown
	Row        int64     // of an item that is in quarantine and was read again: where; else zero
}

// Key identifies the reject: the same item rejected for the same reason is the
// same reject, however often it is fetched (I8).
func (r Reject) Key() string {
	return fingerprint.Key(string(r.Reason), r.Path, fingerprint.Bytes(r.Raw))
}

// WithoutItem reports whether nothing of the item was ever seen: there is nothing to
// map anew, and it can only be asked for.
func (r Reason) WithoutItem() bool {
	return r == MissingDetail || r == DetailFailed || r == ItemFailed
}
