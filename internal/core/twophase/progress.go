package twophase

import "slices"

// Progress is where the second step of a slice stands. It is a plain value that
// a batch stores: a later run asks for exactly what is left (§11.6).
type Progress struct {
	Pending  []string `json:"pending,omitempty"`  // found and not asked for yet
	Missing  []string `json:"missing,omitempty"`  // asked for and not delivered; asked for once more at the end
	Again    bool     `json:"again,omitempty"`    // what is pending was missing before
	Searched bool     `json:"searched,omitempty"` // no search page is left
}

// Found adds the new ids of a search page.
func (p Progress) Found(ids []string, last bool) Progress {
	p.Pending = append(slices.Clip(p.Pending), ids...)
	p.Searched = last
	return p.turn()
}

// Batch is what the next detail request asks for.
func (p Progress) Batch(size int) []string { return p.Pending[:min(size, len(p.Pending))] }

// Asked takes ids off the pending ones. Of those that were not delivered it
// returns the ones that count as lost; the others wait for another try.
func (p Progress) Asked(ids []string, delivered func(id string) bool, policy Policy) (next Progress, lost []string) {
	next = p
	next.Pending = p.Pending[len(ids):]
	for _, id := range ids {
		switch {
		case delivered(id):
		case policy == Recheck && !p.Again:
			next.Missing = append(slices.Clip(next.Missing), id)
		default:
			lost = append(lost, id)
		}
	}
	return next.turn(), lost
}

// turn starts the second look at missing ids once everything else is done.
func (p Progress) turn() Progress {
	if p.Searched && len(p.Pending) == 0 && len(p.Missing) > 0 {
		p.Pending, p.Missing, p.Again = p.Missing, nil, true
	}
	return p
}

// Done reports that nothing is left to search or to ask for.
func (p Progress) Done() bool { return p.Searched && len(p.Pending) == 0 }
