package slicing

import "github.com/patra-ingest/patra/internal/core/sector"

// ForSectors returns a slice of every window for every sector, those of a window one after the other: a window counts as
// read when the last of its sectors is (D§5.26). Without sectors the slices stay as they are.
func ForSectors(cuts []Slice, sectors []sector.Sector) []Slice {
	if len(sectors) == 0 {
		return cuts
	}
	out := make([]Slice, 0, len(cuts)*len(sectors))
	for _, cut := range cuts {
		for _, s := range sectors {
			cut.Spec.Sector = s.Values
			out = append(out, cut)
		}
	}
	return out
}

// ForFew returns slices of windows that a plan reads for a few sectors only, each with how many those are in all.
func ForFew(cuts []Slice, sectors []sector.Sector, few int) []Slice {
	out := ForSectors(cuts, sectors)
	for i := range out {
		out[i].Spec.Few = few
	}
	return out
}
