package twophase

import "slices"

// Progress is where the second step of a slice stands. It is a plain value that
// a batch stores: a later run asks for exactly what is left (§11.6).
type Progress struct {
	Pending  []string `json:"pending,omitempty"`  // found and not asked for yet
	Missing  []string `json:"missing,omitempty"`  // asked for and not delivered; asked for once more at the end
	Again    bool     `json:"again,omitempty"`    // what is pending was missing before
	Searched bool     `json:"searched,omitempty"` // no search page is left
	// Answered are the ids whose fate is known, Bad those of them without a usable
	// detail. They count over all passes of a search: each id is asked for once.
	Answered int `json:"answered,omitempty"`
	Bad      int `json:"bad,omitempty"`
	// Lost are stored records of an UPDATE that were missing to the end.
	Lost int `json:"lost,omitempty"`
	// Buried are those pending that are tombstones: that one does not come is no news,
	// and nobody asks twice.
	Buried []string `json:"buried,omitempty"`
}

// Found adds the new ids of a search page.
func (p Progress) Found(ids []string, last bool) Progress {
	p.Pending = append(slices.Clip(p.Pending), ids...)
	p.Searched = last
	return p.turn()
}

// Bury notes which of the pending ids are tombstones.
func (p Progress) Bury(ids []string) Progress {
	p.Buried = append(slices.Clip(p.Buried), ids...)
	return p
}

// IsBuried reports whether a pending id is a tombstone.
func (p Progress) IsBuried(id string) bool { return slices.Contains(p.Buried, id) }

// Exhume takes ids off the tombstones: what became of them is known.
func (p Progress) Exhume(ids []string) Progress {
	if len(p.Buried) > 0 {
		p.Buried = slices.DeleteFunc(slices.Clone(p.Buried), func(id string) bool { return slices.Contains(ids, id) })
	}
	return p
}

// Restart returns what stays known when the search starts over: ids that were asked
// for are not found again, so those that wait for another try must not be lost.
func (p Progress) Restart() Progress {
	return Progress{Missing: p.Missing, Answered: p.Answered, Bad: p.Bad}
}

// Batch returns what the next detail request asks for.
func (p Progress) Batch(size int) []string { return p.Pending[:min(size, len(p.Pending))] }

// Asked takes ids off the pending ones. Of those that were not delivered it
// returns the ones that count as lost; the others wait for another try.
func (p Progress) Asked(ids []string, delivered func(id string) bool, policy Policy) (next Progress, lost []string) {
	next = p.Exhume(ids)
	next.Pending = p.Pending[len(ids):]
	for _, id := range ids {
		switch {
		case delivered(id):
		case policy == Recheck && !p.Again && !p.IsBuried(id):
			next.Missing = append(slices.Clip(next.Missing), id)
		default:
			lost = append(lost, id)
		}
	}
	return next.turn(), lost
}

// maxMissing is how many missing ids may wait: all of them are written with
// every batch (I14).
const maxMissing = 1000

// turn starts the second look at missing ids once everything else is done, or
// too many of them wait.
func (p Progress) turn() Progress {
	if len(p.Pending) > 0 {
		return p
	}
	p.Again = false
	if len(p.Missing) > 0 && (p.Searched || len(p.Missing) >= maxMissing) {
		p.Pending, p.Missing, p.Again = p.Missing, nil, true
	}
	return p
}

// Done reports that nothing is left to search or to ask for.
func (p Progress) Done() bool { return p.Searched && len(p.Pending) == 0 }
