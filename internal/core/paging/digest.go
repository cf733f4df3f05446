package paging

// Digest is what a pass saw, whatever the order: how many different versions of
// items, and a sum over them. Two passes in a row with the same digest saw the
// same data, so nothing slipped between two pages of the second (D§5.14).
type Digest struct {
	Items int    `json:"items"`
	High  uint64 `json:"high"`
	Low   uint64 `json:"low"`
}

// With adds one version of an item, given as two halves of its hash. The caller
// adds each of them once.
func (d Digest) With(high, low uint64) Digest {
	return Digest{d.Items + 1, d.High + high, d.Low + low}
}
