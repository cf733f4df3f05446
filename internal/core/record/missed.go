package record

import "time"

// SecondMissAfter is how long after the first miss a second one makes a record gone.
// An endpoint that lacks records for an hour, or while an index is built, must not
// delete them (D§5.13).
const SecondMissAfter = 24 * time.Hour

// Fate is what it means that the upstream did not have a record that was asked for
// by its id. Only an answer that lacks the record says so, or a status such as 404: a
// deletion that is announced needs no second word.
type Fate int

// Fates.
const (
	NotFound   Fate = iota // it was never stored either
	StillGone              // it is a tombstone
	SeenSince              // somebody saw it after this was asked
	FirstMiss              // it is missing from now on
	MissedSoon             // too soon after the first miss to mean anything
	Vanished               // missed again a day later, or by enough readings of a whole list: it is gone
)

// FateOf compares a miss with the stored head; nil means not stored.
func FateOf(stored *Head, in Incoming) Fate {
	switch {
	case stored == nil:
		return NotFound
	case stored.State == Gone:
		return StillGone
	case stored.FetchAt.After(in.FetchAt):
		return SeenSince
	case in.Confirmed:
		return Vanished
	case stored.MissingSince.IsZero():
		return FirstMiss
	case in.FetchAt.Before(LooksAgainAt(stored.MissingSince)):
		return MissedSoon
	}
	return Vanished
}

// Waits reports whether the record has to be looked at once more.
func (f Fate) Waits() bool { return f == FirstMiss || f == MissedSoon }

// LooksAgainAt returns the first instant at which a second miss counts.
func LooksAgainAt(missingSince time.Time) time.Time { return missingSince.Add(SecondMissAfter) }

// Sights reports whether an item shows that a record which was missing is there. An
// answer that was asked for before the miss and arrives late shows nothing.
func Sights(stored *Head, in Incoming) bool {
	return stored != nil && stored.State == Active && !stored.MissingSince.IsZero() && !in.Gone && !in.Missed && !in.FetchAt.Before(stored.MissingSince)
}
