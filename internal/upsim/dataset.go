package upsim

import (
	"slices"
	"sync"
	"time"
)

// Config says which works a data set holds. The zero value of every optional
// field means "none of it".
type Config struct {
	Seed     uint64
	From, To time.Time // [From, To) of the indexed stamps, in whole seconds; To <= From gives an empty set

	// PerDay is the mean number of works per day; the total is exact.
	PerDay int
	// Flat gives every day the same load: no weekends, no hot days.
	Flat bool

	// PayloadBytes is the rough size of one work as JSON; the abstract is
	// padded to reach it. Zero keeps the natural size of about 1 KB.
	PayloadBytes int

	// BadIDEvery serves every n-th work without "DOI", BadDateEvery every n-th
	// with an indexed date-time that cannot be parsed. Where both meet, the
	// missing id wins.
	BadIDEvery, BadDateEvery int
}

// item is all the state a work has; the rest follows from the seed and seq.
type item struct {
	indexed   int64 // unix seconds
	deposited int64
	seq       uint32 // identity, from 1
	rev       uint32 // content changes so far
}

// gone marks a removed work in Dataset.stamps.
const gone = int64(-1 << 62)

// Dataset is a set of works with known content. It is safe for concurrent use.
type Dataset struct {
	cfg       Config
	doi       doiCode
	filler    []byte
	generated uint32 // highest seq that came from Config; later ones were added

	mu     sync.RWMutex
	stamps []int64          // by seq: where to find the work among the days
	days   map[int64][]item // by UTC day, sorted; slices are never written in place
	keys   []int64          // the days in order
	named  map[uint32]string
	byName map[string]uint32 // folded DOI of an added work with a name of its own
	size   int
}

// NewDataset builds the works of cfg.
func NewDataset(cfg Config) *Dataset {
	cfg.From, cfg.To = cfg.From.UTC().Truncate(time.Second), cfg.To.UTC().Truncate(time.Second)
	d := &Dataset{
		cfg:    cfg,
		doi:    newDOICode(cfg.Seed),
		filler: newFiller(cfg.Seed),
		stamps: []int64{gone}, // seq 0 is nobody
		days:   map[int64][]item{},
		named:  map[uint32]string{},
		byName: map[string]uint32{},
	}
	for _, load := range spreadWorks(cfg) {
		d.fillDay(load)
	}
	d.generated = uint32(len(d.stamps) - 1)
	return d
}

func (d *Dataset) fillDay(load dayLoad) {
	if load.count == 0 {
		return
	}
	day := dayOf(load.from)
	chance := newStream(d.cfg.Seed, 's', uint64(day))
	works := make([]item, load.count)
	for i := range works {
		at := load.drawStamp(&chance)
		works[i] = item{indexed: at, deposited: at - int64(chance.numberBelow(3*3600)), seq: uint32(len(d.stamps))}
		d.stamps = append(d.stamps, at)
	}
	slices.SortFunc(works, byStamp)
	d.days[day] = works
	d.keys = append(d.keys, day)
	d.size += len(works)
}

// defectOf says how the work is broken in every answer. Added works are sound, so
// that a test that adds one knows what it gets.
func (d *Dataset) defectOf(seq uint32) string {
	switch {
	case seq > d.generated:
		return Sound
	case d.cfg.BadIDEvery > 0 && seq%uint32(d.cfg.BadIDEvery) == 0:
		return MissingID
	case d.cfg.BadDateEvery > 0 && seq%uint32(d.cfg.BadDateEvery) == 0:
		return BadDate
	}
	return Sound
}

// doiOf returns the DOI of the work, also of one that is served without it.
func (d *Dataset) doiOf(seq uint32) string {
	if seq > d.generated {
		d.mu.RLock()
		own, ok := d.named[seq]
		d.mu.RUnlock()
		if ok {
			return own
		}
	}
	return d.doi.encodeDOI(seq)
}
