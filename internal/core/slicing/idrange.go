package slicing

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/patra-ingest/patra/internal/core/fingerprint"
	"github.com/patra-ingest/patra/internal/core/refresh"
)

// RangeKind says what the bounds of a range are compared with.
type RangeKind string

// Kinds of ranges.
const (
	HashBucket RangeKind = "HASH_BUCKET" // the SHA-256 of the id, in hex
	ByID       RangeKind = "ID"          // the id itself, byte by byte
	Hash       RangeKind = "HASH"        // the first eight bytes of that hash, in hex
	Number     RangeKind = "NUMBER"      // a number of ours: of a batch, or of a signal
)

// Range is the share of candidate ids a slice works on: from ≤ x < to. An empty
// bound is open. AsOf is when the candidates were chosen.
type Range struct {
	Key  string    `json:"key"`
	Kind RangeKind `json:"kind"`
	From string    `json:"from"`
	To   string    `json:"to"`
	AsOf time.Time `json:"asOf"`
}

// Candidates are what ID_RANGE cuts: the ids themselves, sorted, or only how
// many there are.
type Candidates struct {
	Key   string // what the ids are, as in "provider_id"
	Count int64
	Rough bool // the count is an extrapolation
	IDs   []string
	AsOf  time.Time
	// Kind HASH cuts the turns that are owed (see package refresh), NUMBER the
	// ranges of numbers; both stand in Request.Owed. Refresh is what each slice
	// then says about its records.
	Kind    RangeKind
	Refresh *refresh.Spec
}

// bucketDigits are the hex digits of a bucket's bound. Records are keyed by the
// same hash, so that a bucket is one range of their index (D§5.19).
const (
	bucketDigits = 4
	hashDigits   = 16
	maxBuckets   = 1 << (4 * bucketDigits)
)

// Contains reports whether an id belongs to the range.
func (g Range) Contains(id string) bool {
	x := id
	switch g.Kind {
	case HashBucket:
		x = fingerprint.Bytes([]byte(id))[:bucketDigits]
	case Hash:
		x = fingerprint.Bytes([]byte(id))[:hashDigits]
	}
	return g.From <= x && (g.To == "" || x < g.To)
}

// Validate checks a range as S§12 says.
func (g Range) Validate() error {
	switch {
	case g.Key == "":
		return fmt.Errorf("range.key is missing")
	case g.Kind == Number:
		return g.validateNumbers()
	case g.Kind != HashBucket && g.Kind != ByID && g.Kind != Hash:
		return fmt.Errorf("range.kind %q must be HASH_BUCKET, HASH, NUMBER or ID", g.Kind)
	case g.To != "" && g.From >= g.To:
		return fmt.Errorf("range is empty or reversed")
	case g.AsOf.IsZero():
		return fmt.Errorf("range.asOf is missing")
	}
	if g.Kind == ByID {
		return nil
	}
	digits := bucketDigits
	if g.Kind == Hash {
		digits = hashDigits
	}
	for _, bound := range []string{g.From, g.To} {
		number, err := strconv.ParseUint(bound, 16, 4*digits)
		if bound != "" && (err != nil || fmt.Sprintf("%0*x", digits, number) != bound) {
			return fmt.Errorf("range bound %q must be %d hex digits", bound, digits)
		}
	}
	return nil
}

func (g Range) validateNumbers() error {
	from, to, err := g.Points(math.MaxInt64)
	switch {
	case err != nil:
		return err
	case g.From == "" || g.To == "":
		return fmt.Errorf("range %d to %d must have both its numbers", from, to)
	case g.AsOf.IsZero():
		return fmt.Errorf("range.asOf is missing")
	}
	return nil
}

// cutIDs is the ID_RANGE strategy (S§2): every candidate is in exactly one
// slice, and so is every id that becomes one later.
func cutIDs(r Request) (Result, error) {
	c := r.Candidates
	if c == nil {
		return Result{}, fmt.Errorf("slicing.strategy ID_RANGE cuts candidate ids, and this operation has none: use TIME")
	}
	perSlice := r.mostItems()
	if r.Config.TargetRecords > 0 {
		perSlice = min(perSlice, int64(r.Config.TargetRecords))
	}
	if c.Kind != "" {
		return r.cutOwed(perSlice)
	}
	if len(c.IDs) > 0 {
		return r.cutSorted(perSlice)
	}
	return r.cutBuckets(perSlice), nil
}

// cutSorted cuts at ids. The first and the last range are open: the cut must
// not depend on whether its outermost ids still exist.
func (r Request) cutSorted(perSlice int64) (Result, error) {
	ids := r.Candidates.IDs
	if ids[0] == "" {
		return Result{}, fmt.Errorf("cut by id: a candidate id is empty")
	}
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			return Result{}, fmt.Errorf("cut by id: candidate ids must be sorted and distinct, not %q before %q", ids[i-1], ids[i])
		}
	}
	var out Result
	for from := 0; from < len(ids); {
		to := from + int(min(perSlice, int64(len(ids)-from)))
		bounds := [2]string{}
		if from > 0 {
			bounds[0] = ids[from]
		}
		if to < len(ids) {
			bounds[1] = ids[to]
		}
		out.addRange(r, ByID, bounds, Estimate{int64(to - from), FromCount, true})
		from = to
	}
	return out, nil
}

// cutBuckets takes the least power of two that brings buckets down to the
// target on average. More buckets than bounds can name there never are.
func (r Request) cutBuckets(perSlice int64) Result {
	var out Result
	count := r.Candidates.Count
	if count <= 0 {
		return out
	}
	n := 1
	for n < maxBuckets && (count-1)/int64(n)+1 > perSlice {
		n *= 2
	}
	for i := range n {
		bounds := [2]string{bucketBound(i * (maxBuckets / n)), ""}
		if i+1 < n {
			bounds[1] = bucketBound((i + 1) * (maxBuckets / n))
		}
		out.addRange(r, HashBucket, bounds, Estimate{(count-1)/int64(n) + 1, FromCount, n == 1 && !r.Candidates.Rough})
	}
	return out
}

func bucketBound(i int) string { return fmt.Sprintf("%0*x", bucketDigits, i) }

func (out *Result) addRange(r Request, kind RangeKind, bounds [2]string, estimate Estimate) {
	s := r.baseSpec(estimate, r.initialPaging())
	s.Range = &Range{Key: r.Candidates.Key, Kind: kind, From: bounds[0], To: bounds[1], AsOf: r.Candidates.AsOf}
	out.Slices = append(out.Slices, Slice{Spec: s})
	out.Stats.Linear++
}
