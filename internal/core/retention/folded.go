package retention

// Folded is what one step did that moves versions of records from rows of their own
// into frames, or joins small frames.
type Folded struct {
	Versions int64    `json:"versions"` // that were moved
	Frames   int64    `json:"frames"`   // that were written
	Joined   int64    `json:"joined"`   // how many frames fewer there are because small ones were joined
	Before   int64    `json:"bytesBefore"`
	After    int64    `json:"bytesAfter"`
	Damaged  []string `json:"damaged"` // versions that stay as they are
	Large    int64    `json:"large"`   // versions too large for a frame, which stay too
	End      bool     `json:"end"`     // nothing is left to do
}

// Add adds another step.
func (f *Folded) Add(o Folded) {
	f.Versions, f.Frames, f.Joined, f.Large = f.Versions+o.Versions, f.Frames+o.Frames, f.Joined+o.Joined, f.Large+o.Large
	f.Before, f.After = f.Before+o.Before, f.After+o.After
	f.Damaged, f.End = append(f.Damaged, o.Damaged...), o.End
}
